import type { HostEvent } from "../../machines/supervisor/events.ts";
import type { Prompt } from "../../machines/task/events.ts";
import type { Host } from "../host/host.ts";
import { isDeleted } from "../host/session-calls.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import type { OwnText } from "../text/own-text.ts";

/** What is left in a conversation: for its model alone, or for people alone. */
export type SessionNote = { text: OwnText; synthetic: true } | { text: OwnText; ignored: true };

/**
 * Leaves asides in conversations: messages that start no turn. A busy session would answer one, with a turn of its own
 * (seen in four of five): so each is stored when its session is idle, and no prompt of ours is on its way there.
 */
export interface SessionNotes {
  /**
   * `aside` says what to leave, when the time has come; undefined: nothing any more. Resolves to whether that is stored:
   * false when it is not wanted, or cannot be: a session is deleted, or the host refuses.
   */
  postWhenIdle(sessionID: string, aside: () => SessionNote | undefined): Promise<boolean>;
  onHostEvent(event: HostEvent): void;
  stop(): void;
}

/** What asides are left with. */
export interface SessionNotesDeps {
  host: Host;
  clock: Clock;
  ids: Ids;
  log: Log;
  /** True while a prompt of ours is on its way to the session. */
  isPrompted(sessionID: string): boolean;
}

/** Milliseconds to another try, where the session is busy and is not heard to become idle, or the host fails. */
const RETRY_MS = 5_000;

export const createSessionNotes = ({ host, clock, ids, log, isPrompted }: SessionNotesDeps): SessionNotes => {
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
      const callOff = clock.after(RETRY_MS, wake);
    });

  const wakeAll = (sessionID: string) => {
    for (const wake of [...(held.get(sessionID) ?? [])]) wake();
  };

  return {
    postWhenIdle: async (sessionID, aside) => {
      let message: Pick<Prompt, "messageID" | "parts"> | undefined;
      let wasMissing = false;
      while (!stopped && aside() !== undefined) {
        const [busy, session] = await Promise.all([host.busy(), host.session(sessionID)]);
        const isMissing = !session.ok && session.failure.kind === "notFound";
        if (isMissing && wasMissing) {
          const deleted = await isDeleted(host, sessionID);
          if (deleted.ok && deleted.value) return false;
        }
        wasMissing = isMissing;
        const wanted = aside();
        if (stopped || wanted === undefined) return false;
        if (busy.ok && session.ok && !busy.value.has(sessionID) && !isPrompted(sessionID)) {
          message ??= { messageID: ids.message(), parts: ids.parts(1).map((id) => ({ id, ...wanted })) };
          const { agent, model } = session.value;
          const stored = await host.prompt({ sessionID, ...message, agent, model, noReply: true });
          if (stored.ok) return true;
          log.error("a message could not be left", { sessionID, reason: stored.failure.message });
          if (stored.failure.kind === "refused" || stopped) return false;
        }
        await untilIdle(sessionID);
      }
      return false;
    },
    onHostEvent: (event) => {
      if (event.type === "idle") wakeAll(event.sessionID);
    },
    stop: () => {
      stopped = true;
      for (const sessionID of [...held.keys()]) wakeAll(sessionID);
    },
  };
};
