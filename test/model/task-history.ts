import type { Run, TaskEffect, TaskEvent } from "../../src/machines/task/events.ts";
import type { SlotState } from "../../src/machines/task/slot.ts";
import type { TaskFacts, TaskStatus } from "../../src/task.ts";
import { createFleetHistory } from "./fleet-history.ts";

/** How often something may be tried in a row, as the specifications and `docs/tasks.md` say. */
const SENDS = 7;
const UNANSWERED_CHECKS = 12;
const STOPS = 10;
const INTERRUPTIONS = 2;
const REPAIRS = 1;
const ENDS_IN_CHECKS = 3;

/** One step of a task, seen from outside: what happened, what the task wanted done, its status and its slot afterwards. */
export interface Step {
  event: TaskEvent;
  effects: readonly TaskEffect[];
  status: TaskStatus;
  slot: SlotState;
}

/** Returns what a task wants done, of the actions of a transition of its chart. */
export const effectsOf = (actions: readonly { type: string; params?: unknown }[]): TaskEffect[] =>
  actions.flatMap(({ type, params }) => (type === "emitEffect" ? [params as TaskEffect] : []));

const isLive = (status: TaskStatus): boolean => status === "running" || status === "resumed";

const demand = (isTrue: boolean, what: string): void => {
  if (!isTrue) throw new Error(what);
};

/** What the parent is owed, and by whom: a plain account of it. */
interface Notices {
  /** Returns what the step must do about notices, such as `queue 0` or `withdraw 0`. */
  take(event: TaskEvent, hasEnded: boolean, run: number): string[];
  /** True when the parent is owed nothing and nobody waits: only then the task may be resumed. */
  areSettled(): boolean;
}

const createNotices = (): Notices => {
  const waiters = new Set<string>();
  let owed: "nothing" | "to a call that waits" | "as a notice" | "in a prompt" = "nothing";

  const owe = (run: number): string => {
    owed = "as a notice";
    return `queue ${run}`;
  };

  return {
    take: (event, hasEnded, run) => {
      switch (event.type) {
        case "WAIT_BEGAN":
          waiters.add(event.call);
          if (owed !== "as a notice") return [];
          owed = "to a call that waits";
          return [`withdraw ${run}`];
        case "WAIT_ABANDONED":
          return waiters.delete(event.call) && waiters.size === 0 && owed === "to a call that waits" ? [owe(run)] : [];
        case "WAIT_DELIVERED":
          if (waiters.delete(event.call) && owed === "to a call that waits") owed = "nothing";
          return [];
        case "NOTICE_COMPOSED":
          if (owed === "as a notice") owed = "in a prompt";
          return [];
        case "NOTICE_ACKNOWLEDGED":
          if (owed === "in a prompt") owed = "nothing";
          return [];
        case "NOTICE_DROPPED":
          if (owed === "as a notice" || owed === "in a prompt") owed = "nothing";
          return [];
        case "ADOPTED": {
          const isLost = owed === "in a prompt" && !event.isNoticePending;
          return owed === "as a notice" || isLost ? [owe(run)] : [];
        }
        default:
          if (!hasEnded) return [];
          if (waiters.size === 0) return [owe(run)];
          owed = "to a call that waits";
          return [`withdraw ${run}`];
      }
    },
    areSettled: () => owed === "nothing" && waiters.size === 0,
  };
};

/** What is known of the run under way. A new one begins anew: nothing of the one before counts in it. */
const newRun = ({ index, messageID, startedAt }: Run) => ({
  index,
  messageID,
  startedAt,
  /** How often its prompt was sent since it was last seen at work. */
  sends: 0,
  unansweredChecks: 0,
  stops: 0,
  interruptions: 0,
  /** When it had finished its newest step, as far as an interruption showed that. */
  newestStepAt: 0,
  hasSlot: false,
  isRecovering: false,
  isStopping: false,
  /** True where it is being stopped for a limit, not by a cancellation. */
  isBeyondLimit: false,
  isChangingModel: false,
  /** True once it has left the task's own model. */
  isModelChanged: false,
  /** `stopping`: its session is being stopped for that; `continuing`: it has a slot again, and OpenCode is asked about it. */
  pause: "none" as "none" | "stopping" | "paused" | "queued" | "continuing",
  /** How often its session was stopped for the pause. */
  pauseStops: 0,
  /** True where something of it was sent before it was paused. */
  wasSentBefore: false,
  /** Number of the check that the host has not answered. */
  openCheck: undefined as number | undefined,
  /** What the host reported first of its failure, since it was last seen at work. */
  firstError: undefined as string | undefined,
  receipt: "none" as "none" | "incomplete" | "written",
  /** True while the gate's command runs before the agent begins. */
  isGatedBefore: false,
  /** How often the process has ended meanwhile. */
  endedBefore: 0,
  /** Number of the gate's command that runs. */
  openGate: undefined as number | undefined,
  gateFailures: 0,
  /** How often in a row the process ended while an answer was checked. */
  endedInChecks: 0,
  /** How many answers in a row were given back because they did not fit the schema. */
  repairs: 0,
  /** The answer that the gate checks. */
  answer: undefined as string | undefined,
  /** Ids of what a person has not answered. */
  requests: new Set<string>(),
  /** All that went wrong in it. */
  errors: new Set<string>(),
});

/**
 * Follows a task from outside, and throws when a step breaks what is promised of every history: each end is owed until it is
 * delivered, and once; nothing is tried more often than promised, nor given up earlier; an old error, check or count says
 * nothing of a new run. It knows nothing of the chart: its expectations are written down here. It is about what each step asks
 * for, and when; what a journal shows by itself is promised in `src/services/promises`.
 */
export const createTaskHistory = (
  first: Run,
  begin: readonly TaskEffect[] = [],
  { gate, schema, fleet: offer }: Pick<TaskFacts, "gate" | "schema" | "fleet"> = {},
) => {
  const notices = createNotices();
  /** Where the run is, if it is the one that is for other servers. */
  let fleet = offer && first.index === 0 ? createFleetHistory(offer, begin) : undefined;
  let status: TaskStatus = "running";
  let run = newRun(first);
  let newestCheck = 0;
  /** True once the agent may begin: the command that is run before has ended, or the process as often as it may meanwhile. */
  let mayBegin = gate?.before !== true;

  /** It was seen at work: what was tried in vain before is forgotten. Its prompt has been sent once. */
  const seenAtWork = () => {
    run.sends = 1;
    run.unansweredChecks = 0;
    run.firstError = undefined;
  };

  /** Whether the host has an answer is known only where that has been checked. */
  const isAnswerChecked = () =>
    run.openGate !== undefined || (schema !== undefined && (run.openCheck !== undefined || run.isRecovering));

  const isAnswerTo = (event: TaskEvent): boolean => "checkId" in event && event.checkId === run.openCheck;

  /** Takes the answer to the check that is open. */
  const takeAnswer = (event: TaskEvent, isStillLive: boolean, effects: readonly TaskEffect[]) => {
    const isModelChanged = effects.some(({ type }) => type === "changeModel");
    const { isRecovering } = run;
    if (event.type === "CHECKED_ANSWERED") run.answer = event.result;
    if (run.pause === "stopping") {
      run.openCheck = undefined;
      if (event.type !== "CHECKED_BUSY") run.pause = "paused";
      else if (run.pauseStops >= STOPS) run.pause = "continuing";
      return;
    }
    if (event.type === "CHECKED_NOT_FOUND") {
      run.openCheck = undefined;
      return;
    }
    if (event.type === "CHECK_FAILED") {
      run.unansweredChecks += 1;
      run.openCheck = undefined;
      const isLast = run.unansweredChecks >= UNANSWERED_CHECKS;
      demand(isStillLive !== isLast, `the ${run.unansweredChecks}. check in a row was not answered`);
      return;
    }
    run.openCheck = undefined;
    run.isRecovering = false;
    const { pause } = run;
    if (run.pause === "continuing") run.pause = "none";
    const isInterrupted =
      event.type === "CHECKED_UNANSWERED" ||
      event.type === "CHECKED_UNSEEN" ||
      (event.type === "CHECKED_ABORTED" && isRecovering);
    if (event.type === "CHECKED_HOST_FAULT") run.firstError = undefined;
    // A pause is no interruption.
    if (
      pause === "continuing" &&
      (isInterrupted || event.type === "CHECKED_HOST_FAULT" || event.type === "CHECKED_ABORTED")
    ) {
      Object.assign(run, { sends: 0, unansweredChecks: 0 });
      return;
    }
    if ((isInterrupted && isRecovering) || event.type === "CHECKED_HOST_FAULT")
      return takeInterruption(event, isStillLive, isRecovering);
    if (isInterrupted) {
      demand(isStillLive === run.sends < SENDS, `its prompt was sent ${run.sends} times in vain`);
      run.unansweredChecks = 0;
    } else if (isModelChanged) {
      run.unansweredChecks = 0;
    } else if (isStillLive && event.type !== "CHECKED_ABORTED") {
      seenAtWork();
      if (effects.every(({ type }) => type !== "runGate")) run.endedInChecks = 0;
    }
  };

  /** A run that was cut off goes on, but not again and again without finishing a step in between. */
  const takeInterruption = (event: TaskEvent, isStillLive: boolean, isRecovering: boolean) => {
    const stepAt = ("lastStepAt" in event && event.lastStepAt) || 0;
    const hasProgressed = stepAt > run.newestStepAt;
    // What the option says concerns tasks whose process has ended.
    const mayRecover = recovery === "continue" || !isRecovering;
    const mayGoOn = mayRecover && (hasProgressed || run.interruptions < INTERRUPTIONS);
    demand(isStillLive === mayGoOn, `${run.interruptions} interruptions, recovery: ${recovery}`);
    run.interruptions = hasProgressed ? 1 : run.interruptions + 1;
    run.newestStepAt = Math.max(stepAt, run.newestStepAt);
    run.sends = 0;
    run.unansweredChecks = 0;
  };
  let recovery = "continue";

  /** Takes what is reported of the run, before what follows from it. */
  const takeReport = (event: TaskEvent, isStillLive: boolean, effects: readonly TaskEffect[]) => {
    if ("error" in event && event.error) run.errors.add(event.error.message);
    if (isAnswerTo(event)) {
      return takeAnswer(event, isStillLive, effects);
    }
    switch (event.type) {
      case "PAUSE": {
        if (run.isStopping || fleet?.isInFleet() || run.pause === "stopping" || run.pause === "paused") break;
        const isAtWork = run.hasSlot && !run.isGatedBefore;
        run.wasSentBefore ||= isAtWork || run.isModelChanged;
        run.pauseStops = 0;
        Object.assign(run, { pause: isAtWork ? "stopping" : "paused", isRecovering: false, unansweredChecks: 0 });
        Object.assign(run, {
          firstError: undefined,
          openCheck: undefined,
          isChangingModel: false,
          openGate: undefined,
        });
        run.requests.clear();
        break;
      }
      case "CONTINUE":
        if (run.pause === "paused")
          Object.assign(run, { pause: "queued", sends: 0, interruptions: 0, unansweredChecks: 0 });
        break;
      case "GATE_ENDED_BEFORE":
        mayBegin ||= run.isGatedBefore;
        break;
      case "SLOT_GRANTED":
        if (run.pause === "queued") run.pause = run.wasSentBefore ? "continuing" : "none";
        // A run in the fleet has asked for none.
        run.hasSlot = !fleet?.isInFleet();
        break;
      case "HOST_ERROR": {
        // Of a child that has answered, whose gate runs, nothing is expected.
        const isExpected = run.hasSlot && run.openGate === undefined && !run.isGatedBefore && run.pause === "none";
        if (isExpected && !run.isStopping && !run.isRecovering && !run.isChangingModel)
          run.firstError ??= event.error.message;
        break;
      }
      case "PROMPT_REFUSED":
        if (isStillLive || !event.retryable) break;
        demand(run.sends === SENDS, `a refused prompt was given up after it was sent ${run.sends} times`);
        break;
      case "MODEL_CHANGED":
        if (!run.isChangingModel) break;
        Object.assign(run, { isModelChanged: true, sends: 0, unansweredChecks: 0, firstError: undefined });
        break;
      case "REQUEST_ASKED":
        // A child that asks is at work.
        if (!run.requests.has(event.request.id)) run.sends = Math.min(run.sends, 1);
        run.requests.add(event.request.id);
        break;
      case "REQUEST_ANSWERED":
        run.requests.delete(event.id);
        break;
      case "LIMIT_EXCEEDED":
        if (!run.isStopping) run.isBeyondLimit = effects.some(({ type }) => type === "stopSession");
        break;
      case "NOT_STOPPED":
        if (run.pause === "stopping" && run.pauseStops >= STOPS) run.pause = "continuing";
        if (run.isStopping) demand(isStillLive === run.stops < STOPS, `it was asked to stop ${run.stops} times`);
        break;
      case "ADOPTED":
        recovery = event.recovery;
        run.requests.clear();
        // Nothing of a run that is to continue was under way.
        if (!run.hasSlot || run.isStopping || run.pause !== "none") break;
        if (run.isGatedBefore) {
          run.endedBefore += 1;
          mayBegin = run.endedBefore >= ENDS_IN_CHECKS;
          break;
        }
        if (isAnswerChecked()) run.endedInChecks += 1;
        Object.assign(run, { isRecovering: true, isChangingModel: false, firstError: undefined, unansweredChecks: 0 });
        break;
    }
  };

  const takeEffect = (effect: TaskEffect, isStillLive: boolean) => {
    switch (effect.type) {
      case "requestSlot":
        run.hasSlot = false;
        run.isChangingModel = false;
        break;
      case "sendPrompt":
        // What was heard before concerns what was there before.
        run.firstError = undefined;
        run.sends += 1;
        run.endedInChecks = 0;
        demand(effect.schema === schema, "a prompt is sent without the schema");
        demand(run.hasSlot, "a prompt is sent without a slot");
        demand(mayBegin, "the agent begins before the gate's command has ended");
        demand(!run.isStopping, "a prompt is sent to a task that is being stopped");
        demand(run.pause === "none", "a prompt is sent to a task that is paused");
        demand(run.sends <= SENDS, `a prompt is sent for the ${run.sends}. time without a sign of work`);
        break;
      case "checkRun":
        demand(effect.checkId > newestCheck, "two checks have the same number");
        demand(effect.hostError?.message === run.firstError, `the check names the error ${effect.hostError?.message}`);
        newestCheck = effect.checkId;
        run.openCheck = effect.checkId;
        break;
      case "changeModel":
        Object.assign(run, { isChangingModel: true, openCheck: undefined });
        break;
      case "runGate":
        demand(gate !== undefined, "a gate is run that the task does not have");
        run.openGate = effect.gateRun;
        run.repairs = 0;
        break;
      case "runGateBefore":
        demand(!mayBegin, "the gate is run before an agent that has begun, or that need not wait for it");
        demand(run.hasSlot, "a gate is run without a slot");
        run.isGatedBefore = true;
        break;
      case "stopGate":
        run.isGatedBefore = false;
        run.openGate = undefined;
        break;
      case "stopSession":
        if (effect.isPause) {
          run.pauseStops += 1;
          demand(run.pause === "stopping", "a run is stopped for a pause that nobody asked for");
          break;
        }
        if (!isStillLive) break;
        run.pause = "none";
        Object.assign(run, { isStopping: true, isRecovering: false, isChangingModel: false, openCheck: undefined });
        run.stops += 1;
        break;
      case "sendSteering":
        demand(!run.isStopping, "an instruction is sent to a task that is being stopped");
        break;
    }
  };

  /** What the notice of a run says is of that run. */
  const checkEnd = (event: TaskEvent, effect: TaskEffect, now: TaskStatus) => {
    if (effect.type !== "queueNotice") return;
    const { outcome, startedAt, endedAt, result, error } = effect.end;
    demand(outcome === now, `the notice says ${outcome} of a task that is ${now}`);
    demand(startedAt === run.startedAt, "the notice names the beginning of another run");
    if (error?.kind === "provider" || error?.kind === "host")
      demand(run.errors.has(error.message), `the notice blames an error of another run: ${error.message}`);
    demand(
      (outcome === "error") === (error !== undefined) || outcome === "cancelled",
      "the notice of a failure says why",
    );
    if (event.type === "CHECKED_ANSWERED" || event.type === "GATE_ENDED")
      demand(result === run.answer, "the notice has another result");
    if (event.type === "REMOTE_ENDED") {
      if (outcome === "completed") demand(result === event.result, "the notice has another result than the server");
      demand(endedAt >= startedAt && endedAt <= event.at, "a run ends before it began, or after it is known");
    }
    if (outcome === "cancelled") demand(result === undefined, "the notice of a cancelled run has a result");
  };

  /** Each end has a receipt: it is written with the end, or asked for until it is. */
  const receiptWanted = (event: TaskEvent, hasEnded: boolean): string[] => {
    if (hasEnded && event.type === "REMOTE_ENDED" && event.receipt) {
      run.receipt = "written";
      return [];
    }
    if (hasEnded) return ["writeReceipt"];
    if (isLive(status) || run.receipt === "written") return [];
    if (event.type === "RECEIPT_WRITTEN" && event.receipt.run === run.index) run.receipt = "written";
    if (event.type === "RECEIPT_INCOMPLETE") run.receipt = "incomplete";
    const asks = event.type === "RECEIPT_INCOMPLETE" || (event.type === "ADOPTED" && run.receipt === "incomplete");
    return asks ? ["completeReceipt"] : [];
  };
  /** Only the command that runs counts; a failure is tried again as often as promised, and no more. */
  const takeGateEnd = (
    { gateRun, end }: Extract<TaskEvent, { type: "GATE_ENDED" }>,
    now: TaskStatus,
    effects: readonly TaskEffect[],
  ) => {
    if (gateRun !== gateOfStep) return demand(isLive(now), "the end of an old gate ends the run");
    const hasPassed = end.exit === 0;
    run.endedInChecks = 0;
    if (!hasPassed) run.gateFailures += 1;
    if (now === "completed") return demand(hasPassed, "a run is completed though its gate failed");
    const mayGoOn = hasPassed || (end.end !== "notRun" && run.gateFailures <= (gate?.tries ?? 0));
    if (!isLive(now)) demand(!mayGoOn && now === "error", `the gate's end ${JSON.stringify(end)} makes the run ${now}`);
    if (!effects.some(({ type }) => type === "sendPrompt")) return;
    demand(!hasPassed && mayGoOn, `after ${run.gateFailures} failures of the gate the child is given another one`);
    // What the child is given then was never sent.
    run.sends = 0;
  };
  /** An answer that does not fit the schema is given back as often as promised, and then ends the run in an error. */
  const takeMisfit = (now: TaskStatus, effects: readonly TaskEffect[]) => {
    demand(schema !== undefined, "an answer does not fit a schema that the task does not have");
    if (!isLive(now)) {
      demand(now === "error", `an answer that does not fit ends the run as ${now}`);
      return demand(run.repairs === REPAIRS, `an answer was given back ${run.repairs} times`);
    }
    if (!effects.some(({ type }) => type === "sendPrompt")) return;
    demand(run.repairs < REPAIRS, "an answer is given back once too often");
    run.repairs += 1;
    // What the child is given then was never sent.
    run.sends = 0;
  };

  /** The gate that ran before the step that is taken. */
  let gateOfStep: number | undefined;

  /** How a run is to begin that was asked for too early. */
  let planned: "RESUME" | "RETRY" | undefined;
  /** True while nothing is missing to that but its beginning. */
  let isToBegin = false;

  /** True where the session is gone for which a run has failed: there is nothing to go on with. */
  let isLost = false;

  const take = (step: Step) => {
    const { event, effects, status: now } = step;
    const before = status;
    if (isLive(before) && now === "error" && event.type === "SESSION_DELETED" && !run.isBeyondLimit) isLost = true;
    gateOfStep = run.openGate;
    status = now;
    let hasBegun = false;
    if (!isLive(before)) {
      const verb = before === "completed" ? "RESUME" : "RETRY";
      const isSettled = notices.areSettled();
      const isResumed =
        (event.type === "RESUME" || event.type === "RETRY") && event.type === verb && !isLost && isSettled;
      const begun = isResumed && (event.isCancelled ? "cancelled" : "resumed");
      demand(now === (begun || before), `a task that is ${before} becomes ${now}`);
      if (event.type === "NEXT_RUN_ASKED" && event.begins === verb && !isLost && !isSettled) planned ??= verb;
      if (isResumed) {
        hasBegun = true;
        planned = undefined;
        // The conversation of a run that ended on another server is there. One that no server had begun is retried here.
        fleet = fleet?.hasConversation() && !event.isCancelled ? fleet.resume(effects) : undefined;
        const { messageID, at } = event;
        run = newRun({ ...run, index: run.index + 1, messageID, startedAt: at, partID: "", prompt: "" });
      }
    }
    const hasEnded = (isLive(before) || hasBegun) && !isLive(now);
    const isStillLive = isLive(now);
    if (isLive(before)) fleet?.take(step);
    if (isLive(before)) takeReport(event, isStillLive, effects);
    if (hasEnded && run.isStopping && !run.isBeyondLimit) {
      // A fault of the plugin ends what it is stopping, too: whether the session has stopped is not known then.
      const expected = event.type === "SUPERVISION_FAILED" ? "error" : "cancelled";
      demand(now === expected, `a cancelled run ends as ${now}`);
    }
    if (hasEnded && event.type === "CHECKED_ANSWERED" && run.endedInChecks >= ENDS_IN_CHECKS) {
      demand(now === "error", `an answer that is not checked to the end makes the run ${now}`);
    } else if (isLive(before) && event.type === "CHECKED_ANSWERED" && event.misfit) takeMisfit(now, effects);
    else if (hasEnded && event.type === "CHECKED_ANSWERED") {
      demand(now === "completed", `an answered run ends as ${now}`);
      demand(gate === undefined, "a run is completed without its gate");
    }
    if (isLive(before) && event.type === "GATE_ENDED") takeGateEnd(event, now, effects);

    const asked = effects.flatMap((effect) => (/Receipt$/.test(effect.type) ? effect.type : []));
    const wanted = receiptWanted(event, hasEnded);
    demand(asked.join() === wanted.join(), `of receipts: "${asked.join()}" in place of "${wanted.join()}"`);
    const expected = notices.take(event, hasEnded, run.index);
    const done = effects.flatMap((effect) => {
      if (effect.type === "queueNotice") return `queue ${effect.end.run}`;
      return effect.type === "withdrawNotice" ? `withdraw ${effect.run}` : [];
    });
    demand(done.join() === expected.join(), `of notices: "${done.join()}" in place of "${expected.join()}"`);
    const begins = effects.flatMap((effect) => (effect.type === "beginNextRun" ? effect.next.begins : []));
    const isDue = planned !== undefined && notices.areSettled() && !isToBegin;
    demand(begins.join() === (isDue ? planned : ""), `of next runs: "${begins.join()}", with ${planned} asked for`);
    isToBegin = planned !== undefined && notices.areSettled();
    for (const effect of effects) {
      if (isStillLive) takeEffect(effect, isStillLive);
      if (hasEnded) checkEnd(event, effect, now);
      if (!hasEnded && !isStillLive)
        demand(/Notice$|Receipt$|NextRun$/.test(effect.type), `a task that has ended does ${effect.type}`);
    }
  };

  for (const effect of begin) takeEffect(effect, true);
  return {
    take,
    /** True when the number is that of the check that the host has not answered. */
    isOpenCheck: (checkId: number): boolean => run.openCheck === checkId,
  };
};
