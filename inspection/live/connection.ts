import type { InspectorMessage } from "../../src/services/inspection/protocol.ts";
import { type NamedServer, ownServerIsBack } from "../own-server.ts";

/** What a page does with the messages of the server. */
export interface MessageHandlers {
  /** Everything that the server keeps: it replaces all that came before. */
  onBegin(message: InspectorMessage): void;
  /** What has been added since. */
  onMore(message: InspectorMessage): void;
  /** `servers` are those of all OpenCode processes, as far as they are known. */
  onState(state: "live" | "lost", servers: readonly NamedServer[]): void;
}

/** Returns the servers that the page's own one names; undefined where it does not. */
const readServers = async (): Promise<NamedServer[] | undefined> => {
  try {
    const response = await fetch("/v1/servers");
    return response.ok ? (await response.json()).servers : undefined;
  } catch {
    // The server has gone: that is noticed by the stream.
    return undefined;
  }
};

/**
 * Reads the events at `url`, and reconnects whenever the connection is lost, once who listens there has proven to be the page's
 * server again.
 */
export const connect = (url: string, handlers: MessageHandlers, known: readonly NamedServer[] = []): void => {
  const { onBegin, onMore, onState } = handlers;
  let servers = known;
  const events = new EventSource(url);
  const read = (handle: (message: InspectorMessage) => void) => (event: MessageEvent<string>) =>
    handle(JSON.parse(event.data));

  events.addEventListener("begin", read(onBegin));
  events.addEventListener("more", read(onMore));
  events.addEventListener("open", async () => {
    onState("live", servers);
    servers = (await readServers()) ?? servers;
    if (events.readyState === EventSource.OPEN) onState("live", servers);
  });
  events.addEventListener("error", async () => {
    onState("lost", servers);
    events.close();
    await ownServerIsBack(servers);
    connect(url, handlers, servers);
  });
};
