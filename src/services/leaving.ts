import type { HostEvent } from "../machines/supervisor-events.ts";
import type { Prompt } from "../machines/task-events.ts";
import type { Clock } from "./clock.ts";
import type { Host } from "./host.ts";
import type { Ids } from "./ids.ts";
import type { Log } from "./log.ts";

/** What is left in a conversation: for its model alone, or for people alone. */
export type Left = { text: string; synthetic: true } | { text: string; ignored: true };

/**
 * Leaves messages in conversations without starting a turn. A busy session would answer them, with a turn of its own
 * (seen in four of five): so each is stored when its session is idle.
 */
export interface Leaving {
  /** Resolves when the message is stored; or, without it, when it is not wanted any more, or its session is gone. */
  leave(sessionID: string, left: Left, isWanted: () => boolean): Promise<void>;
  note(event: HostEvent): void;
  stop(): void;
}

/** Milliseconds to another try, where the session is busy and is not heard to become idle, or the host fails. */
const AGAIN = 5_000;

export const createLeaving = (host: Host, clock: Clock, ids: Ids, log: Log): Leaving => {
  /** By session: wakes those that wait for it to be idle. */
  const held = new Map<string, Set<() => void>>();
  let stopped = false;

  /** Resolves when the session is idle, or after a while. */
  const untilIdle = (sessionID: string) =>
    new Promise<void>((resolve) => {
      const waiting = held.get(sessionID) ?? new Set();
      held.set(sessionID, waiting);
      const wake = () => {
        callOff();
        waiting.delete(wake);
        if (waiting.size === 0) held.delete(sessionID);
        resolve();
      };
      waiting.add(wake);
      const callOff = clock.after(AGAIN, wake);
    });

  const wakeAll = (sessionID: string) => {
    for (const wake of [...(held.get(sessionID) ?? [])]) wake();
  };

  return {
    leave: async (sessionID, left, isWanted) => {
      let message: Pick<Prompt, "messageID" | "parts"> | undefined;
      while (!stopped && isWanted()) {
        const [busy, session] = await Promise.all([host.busy(), host.session(sessionID)]);
        if (stopped || !isWanted() || (!session.ok && session.failure.kind === "notFound")) return;
        if (busy.ok && session.ok && !busy.value.has(sessionID)) {
          message ??= { messageID: ids.message(), parts: ids.parts(1).map((id) => ({ id, ...left })) };
          const { agent, model } = session.value;
          const stored = await host.prompt({ sessionID, ...message, agent, model, noReply: true });
          if (stored.ok) return;
          log.error("a message could not be stored", { sessionID, reason: stored.failure.message });
        }
        await untilIdle(sessionID);
      }
    },
    note: (event) => {
      if (event.type === "idle") wakeAll(event.sessionID);
    },
    stop: () => {
      stopped = true;
      for (const sessionID of [...held.keys()]) wakeAll(sessionID);
    },
  };
};
