import {
  type Account,
  at,
  type Breach,
  bringsAnswer,
  inSnapshot,
  isOfLiveRun,
  type JournalPromise,
  type JournalRun,
  type JournalStep,
} from "./account.ts";

const nameOf = ({ index }: JournalRun): string => `run ${index}`;

const endedStays: JournalPromise = {
  name: "ended-stays",
  says: "Nothing of a run happens after its end: only a resume or a retry begins to work again.",
  breaches: ({ runs }) =>
    runs.flatMap((run) => {
      const { ending, steps } = run;
      if (!ending) return [];
      return steps
        .filter((step) => step.number > ending.number && isOfLiveRun(step))
        .map((step) => at(step, `is of ${nameOf(run)}, which event ${ending.number} (${ending.event.type}) had ended`));
    }),
};

/** What begins something, or goes on with it: none of it happens to a run that is being stopped. */
const GOES_ON =
  /^(SLOT_GRANTED|PROMPT_REFUSED|SESSION_NOT_FOUND|CHECKED_.+|CHECK_FAILED|GATE_ENDED(_BEFORE)?|MODEL_CHANGED|STEER|STEERING_.+|JOB_ENQUEUED|JOB_REFUSED|REMOTE_HELD|HOST_.+|STEPS_WITHOUT_END|CANCEL|LIMIT_EXCEEDED)$/;

const stoppingBeginsNothing: JournalPromise = {
  name: "stopping-begins-nothing",
  says: "A run that is cancelled, or beyond a limit, is only stopped: it gets no slot, prompt, model or instruction any more.",
  breaches: ({ runs }) =>
    runs.flatMap(({ stopping, steps }) => {
      if (!stopping) return [];
      const { number, event } = stopping;
      return steps
        .filter((step) => step.number > number && GOES_ON.test(step.event.type))
        .map((step) => at(step, `goes on with a run that is being stopped since event ${number} (${event.type})`));
    }),
};

/** What ends a run that is being stopped: its session has stopped or is gone, or what stops it has failed. */
const ENDS_STOPPING = new Set(["STOPPED", "NOT_STOPPED", "SESSION_DELETED", "SUPERVISION_FAILED"]);

/** True for a run that had stopped for a pause when it was to end, and had no slot again. */
const hadStoppedForPause = ({ steps, stopping }: JournalRun): boolean =>
  steps.findLast(
    ({ number, event, isOfPause }) =>
      number < (stopping?.number ?? 0) &&
      (/^(SLOT_GRANTED|CHECKED_BUSY)$/.test(event.type) || (isOfPause && /^(NOT_)?STOPPED$/.test(event.type))),
  )?.event.type === "STOPPED";

/**
 * Whether a run was at work here when it was to stop: one that waits for a slot, that is paused, or that waits for the gate's
 * command before it begins, has nothing to stop, and another server its own log.
 */
const wasAtWork = (run: JournalRun): boolean =>
  run.stopping !== undefined &&
  run.begin !== undefined &&
  run.begin.number < run.stopping.number &&
  !hadStoppedForPause(run);

const stopConfirmed: JournalPromise = {
  name: "stop-confirmed",
  says: "A run that is stopped at work is over when its session has stopped, is gone or does not stop; no other run is stopped.",
  breaches: ({ runs }) =>
    runs.flatMap((run): Breach[] => {
      const { stopping, ending, steps } = run;
      const stopped = steps.find(({ event, isOfPause }) => event.type === "STOPPED" && !isOfPause);
      if (stopped && (!stopping || stopped.number < stopping.number))
        return [at(stopped, `stops ${nameOf(run)}, which nobody had asked for`)];
      return !stopping || !ending || !wasAtWork(run) || ENDS_STOPPING.has(ending.event.type)
        ? []
        : [at(ending, `ends ${nameOf(run)}, which event ${stopping.number} stops, before its session has stopped`)];
    }),
};

const completedByAnswer: JournalPromise = {
  name: "completed-by-answer",
  says: "A run is completed by an answer and by nothing else: by one that fits its schema, and passed its gate.",
  breaches: ({ runs, journal }) => {
    const { gate } = journal.origin.facts;
    return runs.flatMap((run): Breach[] => {
      const { outcome, ending } = run;
      if (outcome !== "completed") return [];
      if (!ending) return [inSnapshot(`${nameOf(run)} is completed, and nothing ended it`)];
      const { type, end, misfit } = ending.event;
      if (type === "GATE_ENDED") return end?.exit === 0 ? [] : [at(ending, "completes a run whose gate failed")];
      if (!bringsAnswer(ending.event)) return [at(ending, `completes ${nameOf(run)} without an answer`)];
      if (misfit) return [at(ending, "completes a run with an answer that does not fit its schema")];
      return gate && type === "CHECKED_ANSWERED" ? [at(ending, "completes a run without its gate")] : [];
    });
  },
};

/**
 * True where a run ended with an answer that counts: it fits its schema, and passed its gate. Of one that was stopped, or taken
 * over and not checked any more, it may not count.
 */
const isAnswered = ({ ending, stopping, steps }: JournalRun, gate: unknown): boolean => {
  if (!ending || stopping || steps.some(({ event }) => event.type === "ADOPTED")) return false;
  const { event } = ending;
  if (event.type === "GATE_ENDED") return event.end?.exit === 0;
  return bringsAnswer(event) && !event.misfit && (gate === undefined || event.type === "REMOTE_ENDED");
};

const answeredIsNotRetried: JournalPromise = {
  name: "answered-is-not-retried",
  says: "A run that was answered is not retried: its work would be done, and paid for, again.",
  breaches: ({ runs, journal }) =>
    runs.flatMap((run): Breach[] =>
      run.outcome === "stopped" && run.ending && isAnswered(run, journal.origin.facts.gate)
        ? [at(run.ending, `answers ${nameOf(run)}, which is retried`)]
        : [],
    ),
};

const resultIsAnswer: JournalPromise = {
  name: "result-is-answer",
  says: "The result of a completed run is its answer, word for word.",
  breaches: ({ newest: { outcome, ending, steps }, journal }) => {
    if (outcome !== "completed" || !ending) return [];
    const answer = steps.findLast((step) => step.number <= ending.number && bringsAnswer(step.event));
    return answer && answer.event.result !== journal.snapshot.context.result
      ? [inSnapshot(`the result is another than the answer of event ${answer.number}`)]
      : [];
  },
};

const cancelHolds: JournalPromise = {
  name: "cancel-holds",
  says: "A run that was cancelled ends as cancelled, unless its server in the fleet says otherwise or this plugin fails.",
  breaches: ({ runs }) =>
    runs.flatMap((run): Breach[] => {
      const { stopping, ending, outcome } = run;
      if (stopping?.event.type !== "CANCEL" || !ending || outcome === undefined) return [];
      const mayDiffer = ["REMOTE_ENDED", "SUPERVISION_FAILED"].includes(ending.event.type);
      // One that was retried failed or was cancelled: which of the two is not known.
      return outcome === "cancelled" || outcome === "stopped" || mayDiffer
        ? []
        : [at(ending, `ends ${nameOf(run)} as ${outcome}, which event ${stopping.number} cancelled`)];
    }),
};

/** What shows that somebody stopped a run. An abort by a person is seen in the host. */
const STOPPED_BY = /^(CANCEL|CHECKED_ABORTED|HOST_ERROR|REMOTE_ENDED)$/;

const cancelledBySomebody: JournalPromise = {
  name: "cancelled-by-somebody",
  says: "A run ends as cancelled only where somebody cancelled or aborted it.",
  breaches: ({ newest }) =>
    newest.outcome !== "cancelled" || newest.steps.some(({ event }) => STOPPED_BY.test(event.type))
      ? []
      : [inSnapshot(`${nameOf(newest)} is cancelled, and nobody did that`)],
};

const limitEnds: JournalPromise = {
  name: "limit-ends",
  says: "A run beyond a limit ends in an error, and the limit is its cause.",
  breaches: ({ runs, newest, journal }) =>
    runs.flatMap((run): Breach[] => {
      const { stopping, ending, outcome } = run;
      if (stopping?.event.type !== "LIMIT_EXCEEDED" || !ending || outcome === undefined) return [];
      if (outcome !== "error" && outcome !== "stopped")
        return [at(ending, `ends ${nameOf(run)} as ${outcome}, which event ${stopping.number} had stopped at a limit`)];
      const [cause, error] = [stopping.event.error, journal.snapshot.context.error];
      return run !== newest || error?.message === cause?.message
        ? []
        : [inSnapshot(`the error is another than the limit of event ${stopping.number}: ${error?.message}`)];
    }),
};

/** What goes on with a run, or shows that somebody does. */
const WORKS_ON = /^(SLOT_GRANTED|MODEL_CHANGED|GATE_ENDED)$/;

const pausedDoesNothing: JournalPromise = {
  name: "paused-does-nothing",
  says: "A run that has stopped for a pause gets no slot, model or gate until it is told to go on, and only such a run is.",
  breaches: ({ runs }) =>
    runs.flatMap(({ steps }) => {
      let pause: JournalStep | undefined;
      let hasStopped = false;
      return steps.flatMap((step): Breach[] => {
        const { event, isOfPause } = step;
        if (event.type === "PAUSE") [pause, hasStopped] = [step, false];
        // The next process stops it again.
        if (isOfPause && /^(NOT_)?STOPPED$/.test(event.type)) hasStopped = event.type === "STOPPED";
        if (event.type === "CONTINUE") {
          const isDue = pause !== undefined;
          pause = undefined;
          return isDue ? [] : [at(step, "has a run go on that is not paused")];
        }
        return pause && hasStopped && WORKS_ON.test(event.type)
          ? [at(step, `goes on with a run that is paused since event ${pause.number}`)]
          : [];
      });
    }),
};

/** What was asked for while an end was being delivered, and how the next run began, where it has. */
const askedRuns = ({ runs, steps }: Account) =>
  runs.map((run, place) => {
    const until = runs[place + 1]?.began;
    const here = steps.filter(
      ({ number }) => number > (run.began?.number ?? 0) && number < (until?.number ?? Number.POSITIVE_INFINITY),
    );
    const asked = here.filter(({ event }) => event.type === "NEXT_RUN_ASKED");
    const [first] = asked;
    const isCancelled = here.some(({ number, event }) => first && event.type === "CANCEL" && number > first.number);
    return { asked, isCancelled, began: until };
  });

const askedBegins: JournalPromise = {
  name: "asked-begins",
  says: "A run that is asked for while an end is being delivered begins after that, once and with what it was given; cancelled before, it ends as it begins.",
  breaches: (account) =>
    askedRuns(account).flatMap(({ asked: [asked, ...more], isCancelled, began }): Breach[] => {
      const twice = more.map((step) => at(step, "asks for a run that was asked for already"));
      const stored = account.journal.snapshot.value.nextRun;
      if (asked && !began && stored !== "waiting") {
        return [...twice, inSnapshot(`the run that event ${asked.number} asks for is stored as ${stored}`)];
      }
      if (!began) return twice;
      const { event } = began;
      if ((event.isCancelled === true) !== isCancelled)
        return [
          ...twice,
          at(
            began,
            `begins a run that was ${isCancelled ? "" : "not "}cancelled as if it ${isCancelled ? "was not" : "were"}`,
          ),
        ];
      return !asked || (event.type === asked.event.begins && event.messageID === asked.event.messageID)
        ? twice
        : [...twice, at(began, `begins another run than event ${asked.number} asks for`)];
    }),
};

/** The steps that bring a run's receipt: on another server it is written with the end. */
const receiptsOf = ({ steps }: JournalRun): JournalStep[] =>
  steps.filter(({ event: { type, receipt } }) => type === "RECEIPT_WRITTEN" || (type === "REMOTE_ENDED" && receipt));

const oneReceipt: JournalPromise = {
  name: "one-receipt",
  says: "Each run has one receipt, which is its own, and the snapshot has that of the newest run.",
  breaches: ({ runs, newest, journal }) => {
    const written = runs.flatMap((run) => {
      const [first, ...more] = receiptsOf(run);
      return [
        ...receiptsOf(run)
          .filter(({ event: { type, receipt } }) => type === "RECEIPT_WRITTEN" && receipt?.run !== run.index)
          .map((step) => at(step, `writes the receipt of run ${step.event.receipt?.run} in ${nameOf(run)}`)),
        ...more.map((step) => at(step, `writes a second receipt of ${nameOf(run)}: event ${first?.number} has it`)),
      ];
    });
    const [has, stored] = [receiptsOf(newest).length > 0, journal.snapshot.context.receipt !== undefined];
    if (has === stored) return written;
    return [
      ...written,
      inSnapshot(`${nameOf(newest)} has ${has ? "a" : "no"} receipt, and ${stored ? "one" : "none"} is stored`),
    ];
  },
};

export const RUN_PROMISES: readonly JournalPromise[] = [
  endedStays,
  stoppingBeginsNothing,
  stopConfirmed,
  completedByAnswer,
  answeredIsNotRetried,
  resultIsAnswer,
  cancelHolds,
  cancelledBySomebody,
  askedBegins,
  pausedDoesNothing,
  limitEnds,
  oneReceipt,
];

/** To whom the end of a run is owed: to nobody, to a call that waits, to the outbox, or to the reader of a prompt under way. */
type Owed = "nobody" | "a call" | "the outbox" | "a prompt";

/** What each is called in a snapshot. */
const STORED_AS: Record<Owed, string> = {
  nobody: "none",
  "a call": "held",
  "the outbox": "due",
  "a prompt": "sending",
};

/** What was wrong in the delivery of a task's results. */
interface Deliveries {
  /** An end is delivered that had been delivered. */
  twice: Breach[];
  /** A prompt carries the notice of an end, or the parent has read it, which is not owed. */
  unowed: Breach[];
  /** A run is begun though the end of the one before is owed. */
  forgotten: Breach[];
  /** A call ends its wait that does not wait. */
  unwaited: Breach[];
  owed: Owed;
  /** Those that still wait. */
  waiters: string[];
}

/** Follows how each run's end is delivered. */
const followDeliveries = ({ runs }: Account): Deliveries => {
  const found: Deliveries = { twice: [], unowed: [], forgotten: [], unwaited: [], owed: "nobody", waiters: [] };
  let delivered: JournalStep | undefined;

  const endWait = (step: JournalStep) => {
    const { type, call = "" } = step.event;
    if (!found.waiters.includes(call))
      return found.unwaited.push(at(step, `ends the wait of ${call}, which does not wait`));
    found.waiters = found.waiters.filter((each) => each !== call);
    // The output of one whose time was up is stored too: there was nothing to deliver.
    if (found.owed !== "a call") return;
    if (type === "WAIT_DELIVERED") [found.owed, delivered] = ["nobody", step];
    else if (found.waiters.length === 0) found.owed = "the outbox";
  };

  /** A notice is written, read or dropped: one of an end that is owed so. */
  const takeNotice = (step: JournalStep, from: readonly Owed[], to: Owed) => {
    const isOwed = from.includes(found.owed);
    if (!isOwed && delivered && found.owed === "nobody")
      found.twice.push(
        at(step, `is a notice of an end that event ${delivered.number} (${delivered.event.type}) delivered`),
      );
    else if (!isOwed) found.unowed.push(at(step, `is a notice of an end that is owed to ${found.owed}`));
    if (isOwed) found.owed = to;
    if (step.event.type === "NOTICE_ACKNOWLEDGED") delivered ??= step;
  };

  const take = (step: JournalStep, run: JournalRun) => {
    const { type, call = "", isNoticePending } = step.event;
    if (step === run.ending) found.owed = found.waiters.length > 0 ? "a call" : "the outbox";
    switch (type) {
      case "WAIT_BEGAN":
        found.waiters = [...found.waiters, call];
        if (found.owed === "the outbox") found.owed = "a call";
        return;
      case "WAIT_DELIVERED":
      case "WAIT_ABANDONED":
        return endWait(step);
      case "NOTICE_COMPOSED":
        return takeNotice(step, ["the outbox"], "a prompt");
      case "NOTICE_ACKNOWLEDGED":
        return takeNotice(step, ["a prompt"], "nobody");
      case "NOTICE_DROPPED":
        return takeNotice(step, ["the outbox", "a prompt"], "nobody");
      case "ADOPTED":
        if (found.owed === "a prompt" && isNoticePending === false) found.owed = "the outbox";
    }
  };

  for (const run of runs) {
    if (run.began && found.owed !== "nobody")
      found.forgotten.push(at(run.began, `begins run ${run.index}, and the end before is still owed to ${found.owed}`));
    if (run.began && found.waiters.length > 0)
      found.forgotten.push(
        at(run.began, `begins run ${run.index}, and ${found.waiters.join(", ")} waits for the one before`),
      );
    found.owed = "nobody";
    delivered = undefined;
    for (const step of run.steps) take(step, run);
  }
  return found;
};

const deliveredOnce: JournalPromise = {
  name: "delivered-once",
  says: "Each end is delivered once: by a notice or by a call that waited for it.",
  breaches: (account) => followDeliveries(account).twice,
};

const noticeOwed: JournalPromise = {
  name: "notice-owed",
  says: "A notice is written only of an end that is owed and that no call waits for, and read only where it was written.",
  breaches: (account) => followDeliveries(account).unowed,
};

const nothingForgotten: JournalPromise = {
  name: "nothing-forgotten",
  says: "Each end is owed until it is delivered or nobody is there to have it: no run begins before, and none is stored as delivered.",
  breaches: (account) => {
    const { forgotten, owed } = followDeliveries(account);
    const stored = account.journal.snapshot.value.notice;
    return stored === STORED_AS[owed]
      ? forgotten
      : [...forgotten, inSnapshot(`the end is owed to ${owed}, and the notice is stored as ${stored}`)];
  },
};

const sorted = (ids: readonly string[]): string => [...new Set(ids)].toSorted().join(", ");

const waitsMatched: JournalPromise = {
  name: "waits-matched",
  says: "A call that waits ends its wait once, and the snapshot has those that have not.",
  breaches: (account) => {
    const { unwaited, waiters } = followDeliveries(account);
    const stored = account.journal.snapshot.context.waiters;
    return sorted(stored) === sorted(waiters)
      ? unwaited
      : [...unwaited, inSnapshot(`waiting are "${sorted(waiters)}", and stored are "${sorted(stored)}"`)];
  },
};

export const DELIVERY_PROMISES: readonly JournalPromise[] = [deliveredOnce, noticeOwed, nothingForgotten, waitsMatched];
