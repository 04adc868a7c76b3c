// Journals are checked without the chart that accepted them, so that a fault of the chart shows, which a replay by that
// chart repeats (docs/decisions/276-journals-are-checked-without-the-chart.md).
import { duration } from "../text/amounts.ts";
import {
  type Account,
  at,
  type Breach,
  beginsRun,
  inSnapshot,
  isLive,
  type JournalPromise,
  type JournalStep,
  readAccount,
} from "./account.ts";
import type { RecordedJournal } from "./exported-journal.ts";
import { DELIVERY_PROMISES, RUN_PROMISES } from "./runs.ts";
import { followInstructions, instructionsInOrder, instructionsSeen, TRY_PROMISES } from "./tries.ts";
import { FLEET_PROMISES, requestsAnsweredOnce, WORK_PROMISES } from "./work.ts";

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
const idsIn = ({ event }: JournalStep): (string | undefined)[] => {
  const { type, messageID, partID, misfit } = event;
  if (beginsRun(event) || type === "STEER" || type === "GATE_ENDED") return [messageID, partID];
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

const statusAgrees: JournalPromise = {
  name: "status-agrees",
  says: "The stored status is that of the newest run: under way until something ended it, and ended from then on.",
  breaches: ({ newest, journal }) => {
    const { lifecycle, run } = journal.snapshot.value;
    const { index, ending } = newest;
    if (isLive(lifecycle)) {
      if (ending) return [at(ending, `ends run ${index}, which is stored as ${lifecycle}`)];
      const expected = index === 0 ? "running" : "resumed";
      return lifecycle === expected ? [] : [inSnapshot(`run ${index} is under way, and stored as ${lifecycle}`)];
    }
    if (!ending) return [inSnapshot(`run ${index} is stored as ${lifecycle}, and nothing ended it`)];
    return run === "idle" ? [] : [inSnapshot(`run ${index} is stored as ${lifecycle}, and as one that is under way`)];
  },
};

const countsAgree: JournalPromise = {
  name: "counts-agree",
  says: "The stored run is the newest one, and has the number, the prompt and the instructions that the journal gives it.",
  breaches: ({ newest, journal }): Breach[] => {
    const { run, instructions = [] } = journal.snapshot.context;
    const { messageID } = newest.began?.event ?? journal.origin.run;
    const startedAt = newest.began?.event.at ?? journal.origin.run.startedAt;
    const followed = followInstructions(newest);
    for (const step of newest.steps) followed.take(step);
    const [given, stored] = [followed.pending().join(", "), instructions.map((each) => each.messageID).join(", ")];
    return [
      ...(run.index === newest.index
        ? []
        : [inSnapshot(`run ${newest.index} is the newest, and run ${run.index} is stored`)]),
      ...(run.messageID === messageID
        ? []
        : [inSnapshot(`the prompt is ${messageID}, and ${run.messageID} is stored`)]),
      ...(run.startedAt === startedAt ? [] : [inSnapshot("the newest run is stored with another beginning")]),
      ...(given === stored ? [] : [inSnapshot(`the instructions "${given}" wait, and "${stored}" are stored`)]),
    ];
  },
};

/** All that is promised of a journal, in the order in which it is shown. */
export const JOURNAL_PROMISES: readonly JournalPromise[] = [
  timeGoesOn,
  idsOnce,
  ...WORK_PROMISES,
  instructionsInOrder,
  instructionsSeen,
  requestsAnsweredOnce,
  ...RUN_PROMISES,
  ...TRY_PROMISES,
  ...DELIVERY_PROMISES,
  ...FLEET_PROMISES,
  statusAgrees,
  countsAgree,
];

/** A promise, and where a journal breaks it. */
export interface CheckedPromise extends Pick<JournalPromise, "name" | "says"> {
  breaches: Breach[];
}

/**
 * Holds a journal against all that is promised of one. It knows nothing of the chart that accepted the events: so a fault of
 * the chart shows, which a replay by the same chart repeats. Undefined for a journal that does not begin at the launch.
 */
export const checkJournal = ({ origin, ...rest }: RecordedJournal): CheckedPromise[] | undefined => {
  if (!origin) return undefined;
  const account = readAccount({ ...rest, origin });
  return JOURNAL_PROMISES.map(({ name, says, breaches }) => ({ name, says, breaches: breaches(account) }));
};
