// ADR-032 in docs/decisions.md
import type { HostEvent } from "../../machines/host-events.ts";
import type { Prompt } from "../../machines/task/events.ts";
import type { Host } from "../host/host.ts";
import { isDeleted } from "../host/host.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import type { OwnText } from "../text/own-text.ts";

/** A message for a conversation that starts no turn: `synthetic` for its model only, `ignored` for people only. */
export type SessionNote = { text: OwnText; synthetic: true } | { text: OwnText; ignored: true };

/**
 * Posts notes to conversations, which start no turn. A busy session would start a turn to answer a note (measured: four
 * times in five), so each note is stored only when its session is idle and no prompt of the plugin is on its way there.
 */
export interface SessionNotes {
  /**
   * Posts a note as soon as the session is idle. Resolves to true once it is stored, or to false when it is no longer
   * wanted, the session is deleted, the host refuses the note, or this process stops.
   * @param write returns the note when the time has come; undefined when it is no longer wanted
   */
  postWhenIdle(sessionID: string, write: () => SessionNote | undefined): Promise<boolean>;
  /** Takes an event of the host: an idle session can take its notes. */
  onHostEvent(event: HostEvent): void;
  /** Gives up all notes that are not stored yet. */
  stop(): void;
}

/** Dependencies of the session notes. */
export interface SessionNotesDeps {
  host: Host;
  clock: Clock;
  ids: Ids;
  log: Log;
  /** True while a prompt of the plugin is on its way to the session. */
  isPrompted(sessionID: string): boolean;
}

/** Milliseconds until the next attempt if the session does not become idle before, or the host fails. */
const RETRY_MS = 5_000;

/** Creates the posting of notes to idle sessions. */
export const createSessionNotes = ({ host, clock, ids, log, isPrompted }: SessionNotesDeps): SessionNotes => {
  /** For each session, the functions that resume those waiting for it to be idle. */
  const wakersBySession = new Map<string, Set<() => void>>();
  let stopped = false;

  /** Resolves when the session becomes idle, but after `RETRY_MS` at the latest. */
  const untilIdle = (sessionID: string) =>
    new Promise<void>((resolve) => {
      const wakers = wakersBySession.get(sessionID) ?? new Set();
      wakersBySession.set(sessionID, wakers);
      const wake = () => {
        cancelTimeout();
        wakers.delete(wake);
        if (wakers.size === 0) wakersBySession.delete(sessionID);
        resolve();
      };
      wakers.add(wake);
      const cancelTimeout = clock.after(RETRY_MS, wake);
    });

  const wakeAll = (sessionID: string) => {
    for (const wake of [...(wakersBySession.get(sessionID) ?? [])]) wake();
  };

  return {
    postWhenIdle: async (sessionID, write) => {
      let message: Pick<Prompt, "messageID" | "parts"> | undefined;
      let wasMissing = false;
      while (!stopped && write() !== undefined) {
        const [busy, session] = await Promise.all([host.busy(), host.session(sessionID)]);
        const isMissing = !session.ok && session.failure.kind === "notFound";
        if (isMissing && wasMissing) {
          const deleted = await isDeleted(host, sessionID);
          if (deleted.ok && deleted.value) return false;
        }
        wasMissing = isMissing;
        const note = write();
        if (stopped || note === undefined) return false;
        if (busy.ok && session.ok && !busy.value.has(sessionID) && !isPrompted(sessionID)) {
          message ??= { messageID: ids.message(), parts: ids.parts(1).map((id) => ({ id, ...note })) };
          const { agent, model } = session.value;
          const stored = await host.prompt({ sessionID, ...message, agent, model, noReply: true });
          if (stored.ok) return true;
          log.error("could not post a note to a session", { sessionID, reason: stored.failure.message });
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
      for (const sessionID of [...wakersBySession.keys()]) wakeAll(sessionID);
    },
  };
};
