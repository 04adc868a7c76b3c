import type { ApiTask } from "../../../src/services/http/contract/api-task.ts";
import { PATIENCE_MS } from "../../patience.ts";

/** An event as it came over the wire. */
export interface Received {
  id: string | undefined;
  event: string;
  data: unknown;
}

/** A stream of events, as a test reads it. */
export interface Events {
  response: Response;
  /** Returns the next event. Rejects when the stream ends, or when none comes within ten seconds. */
  next(): Promise<Received>;
  /** Returns the task of the next event, which must have that name. */
  task(event: string): Promise<ApiTask>;
  /** Resolves when the stream has ended, with the remaining events. */
  rest(): Promise<Received[]>;
  close(): void;
}

const parse = (text: string): Received => {
  const fields = new Map(
    text.split("\n").map((line) => {
      const colon = line.indexOf(": ");
      return [line.slice(0, colon), line.slice(colon + 2)] as const;
    }),
  );
  return { id: fields.get("id"), event: fields.get("event") ?? "", data: JSON.parse(fields.get("data") ?? "null") };
};

/** Reads a response as server-sent events. */
export const readEvents = (response: Response, leaving: AbortController): Events => {
  if (!response.body) throw new Error("the answer has no body");
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";

  const read = async (): Promise<Received | undefined> => {
    for (;;) {
      const end = text.indexOf("\n\n");
      if (end >= 0) {
        const event = parse(text.slice(0, end));
        text = text.slice(end + 2);
        return event;
      }
      const { done, value } = await reader.read();
      if (done) return undefined;
      text += decoder.decode(value, { stream: true });
    }
  };

  const inTime = async <T>(promise: Promise<T>): Promise<T> => {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error("no event came")), PATIENCE_MS);
    });
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
  };

  const next = async () => {
    const event = await inTime(read());
    if (!event) throw new Error("the stream has ended");
    return event;
  };

  return {
    response,
    next,
    task: async (name) => {
      const { event, data } = await next();
      if (event !== name) throw new Error(`${event} came, not ${name}`);
      return data as ApiTask;
    },
    rest: async () => {
      const left: Received[] = [];
      for (let event = await inTime(read()); event; event = await inTime(read())) left.push(event);
      return left;
    },
    close: () => leaving.abort(),
  };
};
