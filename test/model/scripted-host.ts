import type { Prompt } from "../../src/machines/task/events.ts";
import type { HostMessage, HostResult } from "../../src/services/host/host.ts";
import type { Clock } from "../../src/services/platform/clock.ts";
import { createFakeHost, type FakeHost, unavailable } from "../fakes/fake-host.ts";
import { PARENT } from "../fakes/stage.ts";
import { createGates, type Gates } from "./gates.ts";

/**
 * A host that does nothing by itself: every call that a chart waits for stands at a gate until the test says how it ends,
 * and nothing is told that the test does not emit. The gates are `prompt <session>`, `steer <session>`, `stop <session>`,
 * `receipt <session>`, `command`, `look`, `read`, `send`, and `toolCall <id>`.
 */
export interface ScriptedHost extends FakeHost {
  gates: Gates;
  /** What the next look finds in the child session. */
  script(messages: HostMessage[]): void;
  /** The prompt that was sent to the parent last. */
  notice(): Prompt;
  /** While true, the parent can be read, as is needed to launch. */
  letRead(isRead: boolean): void;
  /** While true, sessions stop at once, until they are found idle once. */
  letStop(isStopped: boolean): void;
}

const ok = <T>(value: T): HostResult<T> => ({ ok: true, value });
const never = <T>(): Promise<T> => new Promise(() => undefined);

/** A message of a session's model, finished unless it is said to be otherwise. */
export const answer = (promptID: string, given: Partial<HostMessage> = {}): HostMessage => ({
  id: `${promptID}_answer`,
  role: "assistant",
  createdAt: 1,
  promptID,
  completedAt: 2,
  finish: undefined,
  error: undefined,
  isSummary: false,
  text: "",
  ...given,
});

/**
 * Creates a host without any session but the parent's.
 * @param hasEnded whether the run of a task has ended: only then what it did can be read
 */
export const createScriptedHost = (clock: Clock, hasEnded: (taskId: string) => boolean = () => true): ScriptedHost => {
  const gates = createGates();
  const fake = createFakeHost(clock);
  let scripted: HostMessage[] = [];
  let notice: Prompt | undefined;
  let canRead = true;
  let canStop = false;

  const isParent = (sessionID: string) => sessionID === PARENT;

  const scripts: Partial<FakeHost> = {
    session: (id) => (isParent(id) && !canRead ? gates.wait("read") : fake.session(id)),
    prompt: (prompt) => {
      if (isParent(prompt.sessionID)) notice = prompt;
      return gates.wait(isParent(prompt.sessionID) ? "send" : `prompt ${prompt.sessionID}`);
    },
    storeMessage: (message) =>
      isParent(message.sessionID) ? fake.storeMessage(message) : gates.wait(`steer ${message.sessionID}`),
    abort: (id) => (canStop ? Promise.resolve(ok(undefined)) : gates.wait(`stop ${id}`)),
    children: async () => ok([]),
    busy: () => {
      if (!canStop) return gates.wait("look");
      // What follows from the stop may ask as well.
      canStop = false;
      return Promise.resolve(ok(new Set<string>()));
    },
    messages: async (id) => (isParent(id) ? never() : ok(scripted)),
    message: async (id, messageID) => {
      if (isParent(id)) return canRead ? fake.message(id, messageID) : never();
      const prompt = answer("", {
        id: messageID,
        role: "user",
        createdAt: 0,
        promptID: undefined,
        completedAt: undefined,
      });
      return ok({ ...prompt, partIDs: [] });
    },
    runEvents: async (id) => (hasEnded(id) ? gates.wait(`receipt ${id}`) : { ok: false, failure: unavailable }),
    toolCall: (_, callID) => gates.wait(`toolCall ${callID}`),
  };
  return Object.assign(Object.create(fake) as FakeHost, scripts, {
    gates,
    script: (messages: HostMessage[]) => {
      scripted = messages;
    },
    notice: () => {
      if (!notice) throw new Error("the parent was sent nothing");
      return notice;
    },
    letRead: (isRead: boolean) => {
      canRead = isRead;
    },
    letStop: (isStopped: boolean) => {
      canStop = isStopped;
    },
  });
};
