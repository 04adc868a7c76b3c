import type { InspectorMessage } from "../../src/services/inspection/protocol.ts";

/** What a page does with what it is told. */
export interface Reader {
  /** All there is: whatever was known before counts no more. */
  onBegin(showing: InspectorMessage): void;
  onMore(showing: InspectorMessage): void;
  onState(state: "live" | "lost"): void;
}

/** Milliseconds to the next attempt. A browser makes its own after a stream broke off, but none after it was refused. */
const AGAIN = 2_000;

/** Reads the events, and connects again whenever the connection is lost. */
export const connect = (url: string, { onBegin, onMore, onState }: Reader): void => {
  const events = new EventSource(url);
  const read = (handle: (showing: InspectorMessage) => void) => (message: MessageEvent<string>) =>
    handle(JSON.parse(message.data));
  events.addEventListener("begin", read(onBegin));
  events.addEventListener("more", read(onMore));
  events.addEventListener("open", () => onState("live"));
  events.addEventListener("error", () => {
    onState("lost");
    events.close();
    setTimeout(() => connect(url, { onBegin, onMore, onState }), AGAIN);
  });
};
