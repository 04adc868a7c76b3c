import type { LiveSource } from "../../inspection/protocol.ts";
import { type Broadcast, type BroadcastDeps, createBroadcast } from "../events/broadcast.ts";
import { bytes, frame } from "../events/sse-stream.ts";

/** A live source as events: a stream begins with `begin`, which has all that is kept; each `more` has what was added. */
export type LiveFeed = Broadcast;

/** A person has a page or two open. Each costs a connection and up to `MAX_UNREAD_BYTES` of memory. */
export const MAX_VIEWERS = 10;

/** Milliseconds for which steps are gathered: one event of the host leads to a dozen, and no eye tells them apart. */
const GATHER_MS = 40;

/** Creates the feed of a source. It reads nothing while nobody has subscribed. */
export const createLiveFeed = (source: LiveSource, deps: BroadcastDeps): LiveFeed => {
  let upTo = 0;

  const format = (name: "begin" | "more", message: { upTo: number }): string => {
    upTo = message.upTo;
    return frame(name, JSON.stringify(message), upTo);
  };

  const since = (): string[] | undefined => {
    if (!source.isOn()) return undefined;
    const more = source.since(upTo);
    return more.upTo === upTo ? [] : [format("more", more)];
  };

  const first = () => bytes(format("begin", source.since(0)));
  return createBroadcast(
    { maxSubscribers: MAX_VIEWERS, gatherMs: GATHER_MS, first, since, onChange: source.onChange },
    deps,
  );
};
