import type { HostEvent } from "../../src/machines/host-events.ts";
import { isTaskReminder } from "../../src/services/text/reminder-text.ts";
import type { Stage } from "../fakes/stage.ts";
import type { HostCall } from "./calls.ts";
import type { CountedProcess } from "./counted-process.ts";

/** Watches that agents are reminded of their tasks once their conversations were summed up. */
export interface ReminderWatch {
  /** Records that this process hears an event. */
  heard(event: HostEvent, life: CountedProcess): void;
  /** The sessions that were never reminded, though the process that heard of the summary lives. */
  missing(life: CountedProcess): string[];
}

/** The calls of which one posts a reminder. */
const POSTING: readonly HostCall[] = ["busy", "session", "prompt"];

/** `struck`: the names of the host's calls that a fault was applied to. */
export const createReminderWatch = (stage: Stage, struck: ReadonlySet<string>): ReminderWatch => {
  let compactions: { sessionID: string; at: number; life: CountedProcess }[] = [];

  const isReminded = (sessionID: string, since: number): boolean => {
    const { messages, parts } = stage.host.at(sessionID);
    return messages.some(
      ({ id, createdAt }) => createdAt >= since && parts.get(id)?.some(({ text }) => isTaskReminder(text)),
    );
  };

  return {
    heard: ({ type, sessionID }, life) => {
      // The host took the note, and then refused it: it is not posted again.
      if (type === "error") compactions = compactions.filter((one) => one.sessionID !== sessionID);
      if (type !== "compacted" || stage.store.list({ parentSessionID: sessionID }).length === 0) return;
      compactions.push({ sessionID, at: stage.clock.now(), life });
    },
    missing: (life) => {
      // A note that the host refuses, or on which our adapter throws, is not posted again.
      if (POSTING.some((call) => struck.has(call))) return [];
      return (
        compactions
          .filter(({ sessionID, life: heardIn }) => heardIn === life && stage.host.sessionIDs().includes(sessionID))
          // Tasks that are cleared need no reminder, nor do those that were launched after the summary.
          .filter(({ sessionID, at }) =>
            stage.store.list({ parentSessionID: sessionID }).some(({ launchedAt }) => launchedAt <= at),
          )
          .filter(({ sessionID, at }) => !isReminded(sessionID, at))
          .map(({ sessionID }) => `${sessionID} was summed up, and its agent never reminded of its tasks`)
      );
    },
  };
};
