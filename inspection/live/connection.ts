import type { InspectorMessage } from "../../src/services/inspection/protocol.ts";

/** What a page does with the messages of the server. */
export interface MessageHandlers {
  /** Everything that the server keeps: it replaces all that came before. */
  onBegin(message: InspectorMessage): void;
  /** What has been added since. */
  onMore(message: InspectorMessage): void;
  onState(state: "live" | "lost"): void;
}

/** Pause before a new attempt. A browser retries by itself after a stream broke off, but not after it was refused. */
const RETRY_MS = 2_000;

/** Reads the events at `url`, and reconnects whenever the connection is lost. */
export const connect = (url: string, { onBegin, onMore, onState }: MessageHandlers): void => {
  const events = new EventSource(url);
  const read = (handle: (message: InspectorMessage) => void) => (event: MessageEvent<string>) =>
    handle(JSON.parse(event.data));
  events.addEventListener("begin", read(onBegin));
  events.addEventListener("more", read(onMore));
  events.addEventListener("open", () => onState("live"));
  events.addEventListener("error", () => {
    onState("lost");
    events.close();
    setTimeout(() => connect(url, { onBegin, onMore, onState }), RETRY_MS);
  });
};
