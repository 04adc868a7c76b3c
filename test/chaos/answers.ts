import { hasEnded, type Task } from "../../src/task.ts";
import type { Stage } from "../fakes/stage.ts";
import type { ReportedEnd, ToolsetWords, Wait } from "./agent-call.ts";
import type { TaskObservations } from "./observations.ts";

/** A run that a call waits for. */
export interface AwaitedRun {
  taskId: string;
  run: number;
  /** True if it had ended when the call began. */
  wasOver: boolean;
}

/** A run whose end an answer reports: one that the call waited for, or one that it only read. */
export interface DeliveredRun {
  taskId: string;
  run: number;
  way: "byWaiting" | "byReading";
}

/** Reads the answers of tool calls. */
export interface Answers {
  /** Returns the runs that a call is about to wait for; none for one that launches the task first. */
  awaitedBy(sessionID: string, wait: Wait | undefined): AwaitedRun[];
  /** Returns the tasks under way for which this call waits, as they are stored. */
  waitedForBy(sessionID: string, callID: string): Task[];
  /**
   * Returns which awaited runs an answer delivers. Reports one that does not say what is stored, and one that came too soon:
   * `isEarly` is true where the time of the call was not over.
   */
  read(
    text: string,
    call: { callID: string; wait: Wait | undefined },
    awaited: readonly AwaitedRun[],
    isEarly: boolean,
  ): DeliveredRun[];
}

interface AnswerParts {
  stage: Stage;
  tracks: TaskObservations;
  words: ToolsetWords;
  /** The number of the process among those that share the store; undefined for the only one. */
  place: number | undefined;
  fault(words: string): void;
}

export const createAnswers = ({ stage, tracks, words, place, fault }: AnswerParts): Answers => {
  const check = (callID: string, { taskId, status, ...said }: ReportedEnd) => {
    const task = stage.store.get(taskId)?.task;
    if (!task) return;
    if (task.status !== status) fault(`${callID} says that ${taskId} is ${status}: it is ${task.status}`);
    else if ("result" in said && said.result !== task.result) {
      fault(`${callID} gives "${said.result}" as the result of ${taskId}: it is "${task.result}"`);
    }
  };

  /** The run of a task that a call launched. It may fail at once, and be in a notice before the call begins to wait. */
  const launchedRun = (taskId: string, callID: string): AwaitedRun => ({
    taskId,
    run: 0,
    wasOver: wasInNotice(taskId, callID),
  });

  /** True where the end of the newest run was in a notice before the task heard that the call waits. */
  const wasInNotice = (taskId: string, callID: string): boolean => {
    const journal = stage.store.journal(taskId);
    const run = journal.slice(journal.findLastIndex(({ type }) => type === "RESUME" || type === "RETRY") + 1);
    const waits = run.findIndex((event) => event.type === "WAIT_BEGAN" && event.call === callID);
    return run.slice(0, Math.max(0, waits)).some(({ type }) => type === "NOTICE_COMPOSED");
  };

  /** Says whether an end was waited for, or only read after it. */
  const wayOf = ({ taskId, run, wasOver }: AwaitedRun, callID: string): DeliveredRun => {
    // A task of a batch may be resumed meanwhile: the answer reports its newest run.
    const now = tracks.of(taskId)?.resumeCount ?? run;
    // A result that is due and in no notice yet is no longer due once the waiting call has read it.
    const { value, context } = stage.store.get(taskId)?.snapshot ?? {};
    const isOwed = value?.notice === "due" && context?.waiters.includes(callID);
    // A task of another process does not know of the call: its result is delivered as if nobody waited.
    const isUnknown = place !== undefined && !context?.waiters.includes(callID);
    // Nor does it hear of the call, which began before, until that one's process has taken it over.
    const isLate = place !== undefined && now === run && wasInNotice(taskId, callID);
    const isRead = isUnknown || isLate || (wasOver && now === run && !isOwed);
    return { taskId, run: now, way: isRead ? "byReading" : "byWaiting" };
  };

  return {
    awaitedBy: (sessionID, wait) => {
      if (!wait || "launched" in wait.for) return [];
      const { taskId, batchId } = { taskId: undefined, batchId: undefined, ...wait.for };
      return stage.store
        .list({ parentSessionID: sessionID })
        .filter((task) => task.sessionID === taskId || task.batchId === batchId)
        .map((task) => ({ taskId: task.sessionID, run: task.resumeCount, wasOver: hasEnded(task) }));
    },
    waitedForBy: (sessionID, callID) =>
      stage.store.list({ parentSessionID: sessionID }).flatMap((entry) => {
        const { task, snapshot } = stage.store.get(entry.sessionID) ?? {};
        return task && !hasEnded(task) && snapshot?.context.waiters.includes(callID) ? task : [];
      }),
    read: (text, { callID, wait }, awaited, isEarly) => {
      const ends = words.endsIn(text);
      for (const end of ends) check(callID, end);
      const launched = wait && "launched" in wait.for ? words.launchedIn(text) : undefined;
      const runs = launched === undefined ? awaited : [launchedRun(launched, callID)];
      for (const { taskId, run } of isEarly ? runs : []) {
        const task = stage.store.get(taskId)?.task;
        // Of a task that was resumed meanwhile, the run has ended.
        if (task && !hasEnded(task) && task.resumeCount === run)
          fault(`${callID} waits for ${taskId}, and returned before it had ended`);
      }
      return runs
        .filter(({ taskId }) => ends.some((end) => end.taskId === taskId))
        .map((awaitedRun) => wayOf(awaitedRun, callID));
    },
  };
};
