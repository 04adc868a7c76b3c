import type { PluginInput } from "@opencode-ai/plugin";
import type { Log } from "../platform/log.ts";
import type { Host, HostFailure } from "./host.ts";

/** A host that can be closed for good. After that no call reaches it, not even from work that was already running. */
export interface ClosableHost extends Host {
  close(): void;
  isClosed(): boolean;
}

const CLOSED: HostFailure = {
  kind: "unavailable",
  name: "Closed",
  message: "OpenCode has closed this directory, so the plugin does not call it any more",
};

/** Wraps a host: what `instead` returns, if anything, is the answer to a call, which is then not made. */
const wrapped = (host: Host, instead: () => unknown, controls: object = {}): Host =>
  new Proxy(host, {
    get: (target, name, receiver) => {
      if (Object.hasOwn(controls, name)) return Reflect.get(controls, name);
      const call: unknown = Reflect.get(target, name, receiver);
      return typeof call === "function" ? (...args: unknown[]) => instead() ?? call.apply(target, args) : call;
    },
  });

/**
 * Wraps a host so that it can be closed. OpenCode opens a directory for any call that names it, so a call made after
 * OpenCode closed the directory would start everything there again, perhaps in a process that is ending.
 */
export const createClosableHost = (host: Host): ClosableHost => {
  let closed = false;
  const controls = {
    close: () => {
      closed = true;
    },
    isClosed: () => closed,
  };
  const refusal = () => (closed ? Promise.resolve({ ok: false, failure: CLOSED }) : undefined);
  return wrapped(host, refusal, controls) as ClosableHost;
};

/**
 * Wraps a host so that `before` is called before each call of it: whatever a process does first after it was suspended, the
 * host is asked nothing before that.
 */
export const createHostAfter = (host: Host, before: () => void): Host => wrapped(host, before);

/**
 * Writes to OpenCode's log, under the name of a service. A line that cannot be written is dropped: a log that fails must
 * not fail a task, and a call to a closed host would open its directory again.
 */
export const createOpencodeLog = (
  service: string,
  client: PluginInput["client"],
  host: Pick<ClosableHost, "isClosed">,
): Log => {
  const write = (level: "info" | "error") => (message: string, extra?: Record<string, unknown>) => {
    if (host.isClosed()) return;
    const body = { service, level, message, ...(extra ? { extra } : {}) };
    client.app.log({ body }).catch(() => undefined);
  };
  return { info: write("info"), error: write("error") };
};
