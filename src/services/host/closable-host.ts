// ADR-030 in docs/decisions.md
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
  return new Proxy(host, {
    get: (target, name, receiver) => {
      if (Object.hasOwn(controls, name)) return Reflect.get(controls, name);
      const call: unknown = Reflect.get(target, name, receiver);
      if (typeof call !== "function") return call;
      return (...args: unknown[]) =>
        closed ? Promise.resolve({ ok: false, failure: CLOSED }) : call.apply(target, args);
    },
  }) as ClosableHost;
};
