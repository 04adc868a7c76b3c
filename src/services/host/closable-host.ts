import type { Host, HostFailure } from "./host.ts";

/** A host that can be closed for good: from then on no call reaches it, whatever was under way. */
export interface ClosableHost extends Host {
  close(): void;
  isClosed(): boolean;
}

const CLOSED: HostFailure = {
  kind: "unavailable",
  name: "Closed",
  message: "OpenCode has closed the directory, and the plugin asks nothing of it any more",
};

/**
 * The same host, with a door to it. OpenCode opens a directory for any call that names it: one that comes after OpenCode
 * has closed the directory would start everything there again, perhaps in a process that is ending.
 */
export const closable = (host: Host): ClosableHost => {
  let closed = false;
  const door = {
    close: () => {
      closed = true;
    },
    isClosed: () => closed,
  };
  return new Proxy(host, {
    get: (target, name, receiver) => {
      if (Object.hasOwn(door, name)) return Reflect.get(door, name);
      const call: unknown = Reflect.get(target, name, receiver);
      if (typeof call !== "function") return call;
      return (...args: unknown[]) =>
        closed ? Promise.resolve({ ok: false, failure: CLOSED }) : call.apply(target, args);
    },
  }) as ClosableHost;
};
