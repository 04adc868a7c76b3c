import type { HostEvent } from "../../src/machines/host-events.ts";

/** Creates an event that throws when the supervisor forwards it, the first time that its request is read. */
export const malformedRequestEvent = (sessionID: string): HostEvent => {
  let kaboom: Error | undefined = new Error("kaboom");
  return {
    type: "asked",
    sessionID,
    get request() {
      const thrown = kaboom;
      kaboom = undefined;
      if (thrown) throw thrown;
      return { id: "per_poisoned", kind: "permission" as const, what: "bash", since: 0 };
    },
  };
};
