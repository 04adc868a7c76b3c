import type { Step } from "./account.ts";
import { at, type Breach, type JournalPromise } from "./promise.ts";

/** What only a run has that was sent to its agent. */
const OF_SENT_RUN =
  /^(PROMPT_REFUSED|SESSION_NOT_FOUND|CHECKED_.+|CHECK_FAILED|GATE_ENDED|MODEL_CHANGED|LIMIT_EXCEEDED)$/;

const slotFirst: JournalPromise = {
  name: "slot-first",
  says: "A run is sent to its agent only with a slot, and gets another slot only for another model.",
  breaches: ({ runs }) =>
    runs.flatMap(({ steps, index }) => {
      let slots = 0;
      let models = 0;
      let isTaken = false;
      return steps.flatMap((step): Breach[] => {
        const { type } = step.event;
        if (type === "SLOT_GRANTED") slots += 1;
        if (type === "MODEL_CHANGED") models += 1;
        if (type === "REMOTE_CLAIMED") isTaken = true;
        if (type === "SLOT_GRANTED" && slots > models + 1) return [at(step, `gives run ${index} a slot that it has`)];
        return slots === 0 && !isTaken && OF_SENT_RUN.test(type)
          ? [at(step, `is of a run at work, and run ${index} has no slot`)]
          : [];
      });
    }),
};

/** What the host answers when it is sent a prompt. */
const ANSWERS_SENDING = new Set(["PROMPT_ACCEPTED", "PROMPT_REFUSED", "SESSION_NOT_FOUND"]);

/** What has a prompt sent, or sent again. */
const SENDS = /^(SLOT_GRANTED|TICK|CHECKED_.+|GATE_ENDED|ADOPTED)$/;

const sendingAnsweredOnce: JournalPromise = {
  name: "sending-answered-once",
  says: "Each time that a prompt is sent, the host's answer counts once.",
  breaches: ({ steps }) => {
    let answered: Step | undefined;
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

export const WORK: readonly JournalPromise[] = [
  slotFirst,
  sendingAnsweredOnce,
  checksInOrder,
  gatesInOrder,
  modelsOnce,
];
