import {
  type Account,
  at,
  type Breach,
  inSnapshot,
  type JournalPromise,
  type JournalRun,
  type JournalStep,
} from "./account.ts";
import type { RecordedEvent } from "./exported-journal.ts";

/** What only a run has that has, or had, a slot. */
const WITH_SLOT =
  /^(PROMPT_REFUSED|SESSION_NOT_FOUND|CHECKED_.+|CHECK_FAILED|GATE_ENDED(_BEFORE)?|MODEL_CHANGED|LIMIT_EXCEEDED)$/;

const slotFirst: JournalPromise = {
  name: "slot-first",
  says: "A run is sent to its agent only with a slot, and gets another slot only for another model, or to go on after a pause.",
  breaches: ({ runs }) =>
    runs.flatMap(({ steps, index }) => {
      let slots = 0;
      let causes = 0;
      let isTaken = false;
      return steps.flatMap((step): Breach[] => {
        const { type } = step.event;
        if (type === "SLOT_GRANTED") slots += 1;
        if (type === "MODEL_CHANGED" || type === "CONTINUE") causes += 1;
        if (type === "REMOTE_CLAIMED") isTaken = true;
        if (type === "SLOT_GRANTED" && slots > causes + 1) return [at(step, `gives run ${index} a slot that it has`)];
        return slots === 0 && !isTaken && WITH_SLOT.test(type)
          ? [at(step, `is of a run at work, and run ${index} has no slot`)]
          : [];
      });
    }),
};

/** What the host answers when it is sent a prompt. */
const ANSWERS_SENDING = new Set(["PROMPT_ACCEPTED", "PROMPT_REFUSED", "SESSION_NOT_FOUND"]);

/** What has a prompt sent, or sent again. */
const SENDS = /^(SLOT_GRANTED|TICK|CHECKED_.+|GATE_ENDED(_BEFORE)?|ADOPTED)$/;

const sendingAnsweredOnce: JournalPromise = {
  name: "sending-answered-once",
  says: "Each time that a prompt is sent, the host's answer counts once.",
  breaches: ({ steps }) => {
    let answered: JournalStep | undefined;
    return steps.flatMap((step): Breach[] => {
      const { type } = step.event;
      if (SENDS.test(type)) answered = undefined;
      if (!ANSWERS_SENDING.has(type)) return [];
      const first = answered;
      answered = step;
      return first ? [at(step, `answers a sending that event ${first.number} (${first.event.type}) had answered`)] : [];
    });
  },
};

const checksInOrder: JournalPromise = {
  name: "checks-in-order",
  says: "An answer to a check counts once, and only that to the newest check.",
  breaches: ({ steps, journal }) => {
    let newest = 0;
    return steps.flatMap((step): Breach[] => {
      const { checkId } = step.event;
      if (checkId === undefined) return [];
      const before = newest;
      newest = Math.max(newest, checkId);
      if (checkId > journal.snapshot.context.checkId) return [at(step, `answers check ${checkId}, which nobody asked`)];
      return checkId > before ? [] : [at(step, `answers check ${checkId} after check ${before}`)];
    });
  },
};

const gatesInOrder: JournalPromise = {
  name: "gates-in-order",
  says: "A gate is run for an answer, and its end counts once.",
  breaches: ({ runs, journal }) =>
    runs.flatMap(({ steps }) => {
      let answers = 0;
      return steps.flatMap((step): Breach[] => {
        const { type, gateRun = 0 } = step.event;
        if (type === "CHECKED_ANSWERED") answers += 1;
        if (type !== "GATE_ENDED") return [];
        if (!journal.origin.facts.gate) return [at(step, "is of a gate, and the task has none")];
        const isOfAnswer = answers > 0;
        answers = 0;
        return isOfAnswer ? [] : [at(step, `ends gate ${gateRun}, and there is no answer that it was run for`)];
      });
    }),
};

/** What shows that a prompt was sent: the host has answered that, or was asked what became of it. */
const SHOWS_SENT = /^(PROMPT_.+|SESSION_NOT_FOUND|CHECKED_.+|CHECK_FAILED)$/;

const gateBeforeFirst: JournalPromise = {
  name: "gate-before-first",
  says: "Where the options ask for it, the gate's command is run once before the task's agent begins, and never otherwise.",
  breaches: ({ runs }) =>
    runs.flatMap(({ steps, begin, isGatedBefore }) =>
      steps.flatMap((step): Breach[] => {
        const { type } = step.event;
        if (type === "GATE_ENDED_BEFORE" && (!isGatedBefore || step !== begin))
          return [at(step, "ends a command that is not to be run before the agent begins, or has ended")];
        const isEarly = begin === undefined || step.number < begin.number;
        return isGatedBefore && isEarly && SHOWS_SENT.test(type)
          ? [at(step, "is of a prompt, and the command has not ended that is run before")]
          : [];
      }),
    ),
};

const modelsOnce: JournalPromise = {
  name: "models-once",
  says: "A run goes on with each other model at most once.",
  breaches: ({ runs }) =>
    runs.flatMap(({ steps, index }) => {
      const tried = new Map<string, number>();
      return steps.flatMap((step): Breach[] => {
        const { type, model } = step.event;
        if (type !== "MODEL_CHANGED" || !model) return [];
        const name = `${model.providerID}/${model.modelID}`;
        const first = tried.get(name);
        tried.set(name, first ?? step.number);
        return first ? [at(step, `has run ${index} go on with ${name}, as event ${first} did`)] : [];
      });
    }),
};

export const WORK_PROMISES: readonly JournalPromise[] = [
  slotFirst,
  sendingAnsweredOnce,
  checksInOrder,
  gatesInOrder,
  gateBeforeFirst,
  modelsOnce,
];

/** What else ends a request than its answer: the process that heard it has ended, or the server that worked on the run. */
const FORGETS = new Set(["ADOPTED", "REMOTE_CLAIMED", "REMOTE_LOST", "CLOSED"]);

/** Follows the requests of a run, and returns those that are open at its end, and what is wrong. */
const followRequests = ({ steps, ending, index }: JournalRun): { open: string[]; breaches: Breach[] } => {
  const breaches: Breach[] = [];
  /** Those that were asked and not answered, and among them those that count no more. */
  const asked = new Map<string, JournalStep>();
  const forgotten = new Set<string>();
  const ask = (step: JournalStep, id: string) => {
    const before = asked.get(id);
    if (before && !forgotten.has(id)) breaches.push(at(step, `asks ${id}, which event ${before.number} had asked`));
    asked.set(id, step);
    forgotten.delete(id);
  };
  for (const step of steps) {
    const { type, request, id = "" } = step.event;
    if (FORGETS.has(type)) for (const each of asked.keys()) forgotten.add(each);
    if (type === "REQUEST_ASKED" && request) ask(step, request.id);
    if (type === "REQUEST_ANSWERED" && !asked.delete(id))
      breaches.push(at(step, `answers ${id}, which run ${index} does not ask`));
  }
  return { breaches, open: ending ? [] : [...asked.keys()].filter((id) => !forgotten.has(id)) };
};

export const requestsAnsweredOnce: JournalPromise = {
  name: "requests-answered-once",
  says: "A request is asked once and answered once, and the snapshot has those that are open.",
  breaches: ({ runs, newest, journal }: Account) => {
    const found = runs.map(followRequests);
    const { open } = followRequests(newest);
    const stored = journal.snapshot.context.userRequests.map(({ id }) => id);
    // A server of the fleet that has lost the run may be heard of once more.
    const isSame = journal.origin.facts.fleet !== undefined || open.join() === stored.join();
    return [
      ...found.flatMap(({ breaches }) => breaches),
      ...(isSame ? [] : [inSnapshot(`open are "${open.join(", ")}", and stored are "${stored.join(", ")}"`)]),
    ];
  },
};

type Claim = NonNullable<RecordedEvent["claim"]>;

const isSame = (one: Claim | undefined, other: Claim | undefined): boolean =>
  one !== undefined && one.epoch === other?.epoch && one.seq === other.seq;

const isNewer = (claim: Claim, than: Claim): boolean =>
  claim.epoch > than.epoch || (claim.epoch === than.epoch && claim.seq > than.seq);

const newestClaimCounts: JournalPromise = {
  name: "newest-claim-counts",
  says: "Of the servers of a fleet, only the one that claimed a run last says how it ended.",
  breaches: ({ runs }) =>
    runs.flatMap(({ steps, index }) => {
      let newest: Claim | undefined;
      return steps.flatMap((step): Breach[] => {
        const { type, claim, isNewestForgotten } = step.event;
        if (type === "REMOTE_CLAIMED" && claim) {
          const isOld = newest !== undefined && isNewestForgotten !== true && !isNewer(claim, newest);
          newest = claim;
          return isOld ? [at(step, `claims run ${index} by an older claim than the one that it has`)] : [];
        }
        const isOfClaim = type === "REMOTE_ENDED" || type === "REMOTE_HELD";
        return isOfClaim && !isSame(claim, newest) ? [at(step, `is of a server that has not run ${index}`)] : [];
      });
    }),
};

const oneServer: JournalPromise = {
  name: "one-server",
  says: "A run that a server of the fleet has is not begun here before it is taken back.",
  breaches: ({ runs }) =>
    runs.flatMap(({ steps, index }) => {
      let isElsewhere = false;
      return steps.flatMap((step): Breach[] => {
        const { type } = step.event;
        if (type === "REMOTE_CLAIMED") isElsewhere = true;
        if (type === "CLOSED" || type === "JOB_REFUSED") isElsewhere = false;
        return type === "SLOT_GRANTED" && isElsewhere
          ? [at(step, `begins run ${index} here, and a server has it`)]
          : [];
      });
    }),
};

export const FLEET_PROMISES: readonly JournalPromise[] = [newestClaimCounts, oneServer];
