import { type Account, at, type Breach, type JournalPromise, type JournalRun, type JournalStep } from "./account.ts";

/** Follows the instructions of a run from its beginning on. */
export const followInstructions = ({ stopping, ending }: JournalRun) => {
  let pending: string[] = [];
  return {
    /** Returns the instructions that were given, and that the host is not known to have, oldest first. */
    pending: (): readonly string[] => pending,
    /** Returns what is wrong with a step of the run. */
    take: (step: JournalStep): Breach[] => {
      const { type, messageID = "" } = step.event;
      if (type === "STEER") pending = [...pending, messageID];
      const isOutOfOrder = type.startsWith("STEERING_") && messageID !== pending[0];
      const place = pending.indexOf(messageID);
      if (type === "STEERING_STORED") pending = pending.filter((id) => id !== messageID);
      if (step === stopping || step === ending) pending = [];
      if (!isOutOfOrder) return [];
      return [
        at(
          step,
          place < 0
            ? `is about ${messageID}, which is no instruction that waits`
            : `is about ${messageID}, and ${pending[0]} was given before it`,
        ),
      ];
    },
  };
};

export const instructionsInOrder: JournalPromise = {
  name: "instructions-in-order",
  says: "Instructions reach the child once each, in the order in which they were given.",
  breaches: ({ runs }) =>
    runs.flatMap((run) => {
      const instructions = followInstructions(run);
      return run.steps.flatMap(instructions.take);
    }),
};

export const instructionsSeen: JournalPromise = {
  name: "instructions-seen",
  says: "Only what a run was given is seen in it, and once; and a run that is answered has seen all of it.",
  breaches: ({ runs }) =>
    runs.flatMap(({ index, steps, ending, outcome }) => {
      let unseen: string[] = [];
      const breaches: Breach[] = [];
      for (const step of steps) {
        const { type, messageID = "" } = step.event;
        if (type === "STEER") unseen = [...unseen, messageID];
        if (type === "INSTRUCTION_SEEN") {
          const place = unseen.indexOf(messageID);
          if (place < 0) breaches.push(at(step, `is about ${messageID}, which run ${index} has no need to see`));
          unseen = unseen.slice(place + 1);
        }
        if (step === ending && outcome === "completed" && unseen.length > 0)
          breaches.push(at(step, `answers run ${index}, which has not seen ${unseen[0]}`));
      }
      return breaches;
    }),
};

/** How often something is tried in a row before a run is given up. The documents promise these numbers, not the charts. */
const TRIES = { sends: 7, checks: 12, stops: 10, interruptions: 3, repairs: 2 };

/** Follows one run, and says of each step why it must have ended the run; undefined where it need not. */
type MustEnd = (step: JournalStep) => string | undefined;

type Facts = Account["journal"]["origin"]["facts"];

/** A promise that a run is over at the latest with a certain step. `follow` begins to follow a run. */
const over = (name: string, says: string, follow: (run: JournalRun, facts: Facts) => MustEnd): JournalPromise => ({
  name,
  says,
  breaches: ({ runs, journal }) =>
    runs.flatMap((run) => {
      const mustEnd = follow(run, journal.origin.facts);
      return run.steps.flatMap((step): Breach[] => {
        const why = mustEnd(step);
        return why === undefined || step === run.ending ? [] : [at(step, `${why}, and run ${run.index} went on`)];
      });
    }),
});

/** What shows that a prompt arrived, or that it is sent anew for another reason. */
const SENT_ANEW =
  /^(CHECKED_(BUSY|AWAITING_TASKS|ANSWERED|FAILED|HOST_FAULT|ABORTED)|GATE_ENDED|MODEL_CHANGED|SLOT_GRANTED|REQUEST_ASKED|ADOPTED|PAUSE)$/;

const sendsBounded = over(
  "sends-bounded",
  `A prompt is sent ${TRIES.sends} times in vain, and not again; one that is refused for good is not sent again.`,
  () => {
    let sends = 0;
    return ({ event: { type, retryable } }) => {
      if (SENT_ANEW.test(type)) sends = 0;
      if (type === "PROMPT_ACCEPTED" || type === "PROMPT_REFUSED") sends += 1;
      if (type === "PROMPT_REFUSED" && retryable === false) return "refuses the prompt for good";
      const isInVain = type === "PROMPT_REFUSED" || type === "CHECKED_UNANSWERED" || type === "CHECKED_UNSEEN";
      return isInVain && sends >= TRIES.sends ? `shows that the prompt was sent ${sends} times in vain` : undefined;
    };
  },
);

/** What shows the host to be there, or has it asked about something else. */
const HEARD_OF = /^(CHECKED_(?!NOT_FOUND).+|GATE_ENDED|MODEL_CHANGED|SLOT_GRANTED|HOST_RETRYING|ADOPTED)$/;

const checksBounded = over(
  "checks-bounded",
  `A run is given up when the host has left ${TRIES.checks} checks in a row unanswered.`,
  () => {
    let failed = 0;
    let isPaused = false;
    return ({ event: { type } }) => {
      if (/^(PAUSE|CONTINUE)$/.test(type)) isPaused = type === "PAUSE";
      if (isPaused || HEARD_OF.test(type)) failed = 0;
      // The host is asked once more when a paused run goes on.
      if (type !== "CHECK_FAILED" || isPaused) return undefined;
      failed += 1;
      return failed >= TRIES.checks ? `is the ${failed}. check in a row without an answer` : undefined;
    };
  },
);

const stopsBounded = over(
  "stops-bounded",
  `A session is asked to stop ${TRIES.stops} times, and not again.`,
  ({ stopping }) => {
    let inVain = 0;
    return ({ number, event: { type } }) => {
      if (!stopping || number < stopping.number || type !== "NOT_STOPPED") return undefined;
      inVain += 1;
      return inVain >= TRIES.stops ? `shows that the session was asked to stop ${inVain} times in vain` : undefined;
    };
  },
);

const interruptionsBounded = over(
  "interruptions-bounded",
  `A run that is cut off ${TRIES.interruptions} times in a row, without a finished step in between, is given up.`,
  ({ begin }) => {
    let interruptions = 0;
    let newestStepAt = 0;
    let hasSlot = false;
    let isRecovering = false;
    // Until the host has said what became of the run once it goes on: nothing but the pause has cut it off.
    let isOfPause = false;
    return (step) => {
      const { type, lastStepAt = 0 } = step.event;
      if (type === "PAUSE") isOfPause = true;
      if (type === "CONTINUE") interruptions = 0;
      if (type === "SLOT_GRANTED") hasSlot = true;
      if (type === "PAUSE" || type === "CONTINUE") hasSlot = false;
      if (type === "ADOPTED") isRecovering = true;
      // It was taken over before it was sent.
      if (type === "SLOT_GRANTED" || step === begin) isRecovering = false;
      const wasRecovering = isRecovering;
      if (type.startsWith("CHECKED_") && type !== "CHECKED_NOT_FOUND") isRecovering = false;
      const isCutOff =
        type === "CHECKED_HOST_FAULT" || (wasRecovering && /^CHECKED_(ABORTED|UNANSWERED|UNSEEN)$/.test(type));
      const counts = isCutOff && !isOfPause;
      if (hasSlot && type.startsWith("CHECKED_")) isOfPause = false;
      if (!counts) return undefined;
      interruptions = lastStepAt > newestStepAt ? 1 : interruptions + 1;
      newestStepAt = Math.max(newestStepAt, lastStepAt);
      return interruptions >= TRIES.interruptions ? `is the ${interruptions}. interruption in a row` : undefined;
    };
  },
);

const answerEnds = over(
  "answer-ends",
  "An answer ends its run at once, unless it goes through a gate, is given back, or an instruction is on its way.",
  (run, { gate }) => {
    const instructions = followInstructions(run);
    return (step) => {
      instructions.take(step);
      const { type, misfit } = step.event;
      const counts = type === "CHECKED_ANSWERED" && !misfit && !gate && instructions.pending().length === 0;
      return counts ? "is the answer of the run" : undefined;
    };
  },
);

const repairsBounded = over(
  "repairs-bounded",
  "An answer that does not fit the schema is given back once; the next one that does not fit ends the run.",
  (run) => {
    const instructions = followInstructions(run);
    let misfits = 0;
    return (step) => {
      instructions.take(step);
      const { type, misfit } = step.event;
      if (type !== "CHECKED_ANSWERED" || step.isOfPause || instructions.pending().length > 0) return undefined;
      misfits = misfit ? misfits + 1 : 0;
      return misfits >= TRIES.repairs ? `is the ${misfits}. answer in a row that does not fit` : undefined;
    };
  },
);

const gateBounded = over(
  "gate-bounded",
  "A gate that passes ends its run, and one that fails is tried again as often as the options say.",
  (run, { gate }) => {
    const instructions = followInstructions(run);
    let failures = 0;
    return (step) => {
      instructions.take(step);
      const { type, end } = step.event;
      if (type !== "GATE_ENDED" || !end) return undefined;
      const hasPassed = end.exit === 0;
      if (!hasPassed) failures += 1;
      if (instructions.pending().length > 0) return undefined;
      if (hasPassed) return "shows that the answer passed its gate";
      if (end.end === "notRun") return "shows that the gate cannot be run";
      return failures > (gate?.tries ?? 0) ? `is failure ${failures} of the gate` : undefined;
    };
  },
);

export const TRY_PROMISES: readonly JournalPromise[] = [
  sendsBounded,
  checksBounded,
  stopsBounded,
  interruptionsBounded,
  answerEnds,
  repairsBounded,
  gateBounded,
];
