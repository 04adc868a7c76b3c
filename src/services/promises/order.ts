import { duration } from "../text/duration.ts";
import type { Account, Step } from "./account.ts";
import { at, type Breach, type JournalPromise } from "./promise.ts";

const timeGoesOn: JournalPromise = {
  name: "time-goes-on",
  says: "Within one process, no event is older than the one before it.",
  breaches: ({ steps, journal }) => {
    let newest = journal.origin.run.startedAt;
    return steps.flatMap((step): Breach[] => {
      const { type, at: now } = step.event;
      // Another process may have another clock.
      const isBehind = now < newest && type !== "ADOPTED";
      const behind = newest - now;
      newest = now;
      return isBehind ? [at(step, `is ${duration(behind)} older than what came before it`)] : [];
    });
  },
};

/** The ids of the messages that a step brings: those of a prompt, an instruction, or what an answer is given back with. */
const idsIn = ({ event: { type, messageID, partID, misfit } }: Step): (string | undefined)[] => {
  if (type === "RESUME" || type === "STEER" || type === "GATE_ENDED") return [messageID, partID];
  return misfit ? [misfit.messageID, misfit.partID] : [];
};

const idsOnce: JournalPromise = {
  name: "ids-once",
  says: "No two messages to the child have the same id.",
  breaches: ({ steps, journal }: Account) => {
    const { messageID, partID } = journal.origin.run;
    const used = new Map([messageID, partID].map((id): [string, string] => [id, "the launch"]));
    return steps.flatMap((step) =>
      idsIn(step).flatMap((id): Breach[] => {
        if (id === undefined) return [at(step, "brings a message without an id")];
        const first = used.get(id);
        used.set(id, first ?? `event ${step.number}`);
        return first ? [at(step, `brings ${id}, which ${first} has used`)] : [];
      }),
    );
  },
};

export const ORDER: readonly JournalPromise[] = [timeGoesOn, idsOnce];
