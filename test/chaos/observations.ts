import { hasEnded, type Task } from "../../src/task.ts";
import { isOfBatch, isQuiet } from "./waking.ts";

const failed = (task: Task | undefined): boolean => task?.status === "error" || task?.status === "cancelled";

/** Returns what may never change after a run has ended. */
const endOf = ({ status, completedAt, result, error }: Task): string =>
  JSON.stringify([status, completedAt, result, error]);

const runOf = ({ sessionID, resumeCount }: Task): string => `${sessionID}/${resumeCount}`;

/** Milliseconds within which the child tasks of a failed task must have begun to stop. */
const AT_ONCE = 1_000;

/**
 * Creates an empty record. `fault` is called with a description of each violation; `now` returns epoch milliseconds;
 * `isAttended` says whether a living process looks after a task.
 */
export const createTaskObservations = (
  fault: (words: string) => void,
  now: () => number,
  isAttended: (taskId: string) => boolean,
) => {
  const tasks = new Map<string, Task>();
  const ends = new Set<string>();
  const removals = new Set<string>();
  const deleted = new Set<string>();
  const requests = new Map<string, number>();
  /** The runs in which sessions were aborted, by session. */
  const aborted = new Map<string, string>();
  const refused = new Set<string>();
  const endless = new Set<string>();
  const paused = new Set<string>();
  const gone = new Set<string>();
  /** What was removed in the step under way. */
  const leaving = new Set<string>();
  const back = new Map<string, number>();
  /** Tasks whose retries have begun in the step under way, and the runs that their agents were told of by that. */
  const retried = new Set<string>();
  const toldByRetry = new Set<string>();
  /** The runs after whose end nothing of their batch was at work. */
  const lastOfBatch = new Set<string>();
  /** When the newest run of a task that failed or was cancelled was seen so, and the runs that were then under way below it. */
  const failures = new Map<string, { run: string; at: number; below: Set<string> }>();

  const above = (sessionID: string): string[] => {
    const parent = tasks.get(sessionID)?.parentSessionID;
    return parent === undefined ? [] : [parent, ...above(parent)];
  };

  /** The nearest of them up to one that is stored no more: what is above that, the engine cannot know. */
  const storedAbove = (sessionID: string): string[] => {
    const leads = above(sessionID);
    const end = leads.findIndex((id) => gone.has(id));
    return end < 0 ? leads : leads.slice(0, end);
  };

  /** Runs that were under way when a task above them failed or was cancelled: they end with it, though it is retried meanwhile. */
  const endWithLead = new Set<string>();

  const wasToEnd = (taskId: string): boolean => {
    const task = tasks.get(taskId);
    return (
      ends.has(taskId) ||
      (task !== undefined && endWithLead.has(runOf(task))) ||
      above(taskId).some((lead) => ends.has(lead) || failed(tasks.get(lead)))
    );
  };

  const wasToGo = (taskId: string): boolean =>
    removals.has(taskId) || above(taskId).some((lead) => removals.has(lead) || deleted.has(lead));

  const compareRuns = (before: Task, task: Task) => {
    const { sessionID: id, resumeCount } = task;
    if (before.parentSessionID !== task.parentSessionID) fault(`${id} changed its parent`);
    if (before.resumeCount === resumeCount) {
      if (hasEnded(before) && endOf(before) !== endOf(task)) {
        fault(`run ${resumeCount} of ${id} changed after its end: ${endOf(before)} became ${endOf(task)}`);
      }
      return;
    }
    // Only what was answered is resumed, and only what was not is retried.
    const mayFollow = task.isRetry ? failed(before) : before.status === "completed";
    if (resumeCount !== before.resumeCount + 1 || !mayFollow) {
      fault(`${id} went from run ${before.resumeCount} (${before.status}) to run ${resumeCount}`);
    }
    if (resumeCount > (requests.get(id) ?? 0)) fault(`${id} goes on though nobody asked for it`);
  };

  /** True for a child task that still runs although its parent task failed and nobody would read its result. */
  const outlives = (task: Task): boolean =>
    storedAbove(task.sessionID).some((lead) => {
      const failure = failures.get(lead);
      return failure?.below.has(runOf(task)) && now() > failure.at + AT_ONCE;
    });

  const noteFailure = (task: Task) => {
    const { sessionID: lead } = task;
    // What a person began in the session of an ended task is theirs, and ends with no task above that one.
    const isBelow = ({ sessionID }: Task) => {
      const leads = above(sessionID);
      return leads.includes(lead) && !leads.slice(0, leads.indexOf(lead)).some((id) => back.has(id));
    };
    const below = [...tasks.values()].filter((task) => !hasEnded(task) && isBelow(task));
    failures.set(lead, { run: runOf(task), at: now(), below: new Set(below.map(runOf)) });
    for (const run of below.map(runOf)) endWithLead.add(run);
  };

  const noteQuietBatch = (task: Task) => {
    const batch = [...tasks.values()].filter((other) => isOfBatch(other, task) && !gone.has(other.sessionID));
    // What nobody looks after may never end: it is not waited for.
    const isAtWork = (other: Task) => !isQuiet(other) && isAttended(other.sessionID);
    if (!batch.some(isAtWork)) for (const ended of batch.filter(hasEnded)) lastOfBatch.add(runOf(ended));
  };

  const see = (task: Task) => {
    const { sessionID: id, status, resumeCount } = task;
    const before = tasks.get(id);
    // Where it was just removed, it is shown once more.
    if (leaving.has(id)) return;
    if (gone.has(id)) fault(`${id} is back after it was removed`);
    if (before) compareRuns(before, task);
    if ((status === "running" && resumeCount > 0) || (status === "resumed" && resumeCount === 0)) {
      fault(`run ${resumeCount} of ${id} is ${status}`);
    }
    tasks.set(id, task);
    if (task.isRetry && before?.resumeCount !== resumeCount) {
      retried.add(id);
      // What a person began there is the retried task's own from now on, and ends with it.
      back.delete(id);
    }
    noteQuietBatch(task);
    // A task that is being stopped with one above it ends as cancelled, also where that one is retried meanwhile.
    if (task.state.includes(".stopping") && above(id).some((lead) => failed(tasks.get(lead))))
      endWithLead.add(runOf(task));
    if (failed(task) && failures.get(id)?.run !== runOf(task)) noteFailure(task);
    if (status === "completed" && before && !hasEnded(before) && outlives(task)) {
      fault(`${id} works on though the task that launched it has failed`);
    }
    if (status === "cancelled" && !wasToEnd(id)) fault(`${id} is cancelled though nobody asked for it`);
  };

  /** A retry says what has become of the tasks that its agent had launched. */
  const noteTold = () => {
    const ofRetried = [...tasks.values()].filter((task) => retried.has(task.parentSessionID));
    for (const { sessionID, resumeCount, ...task } of ofRetried) {
      const ended = hasEnded(task) ? resumeCount + 1 : resumeCount;
      for (let run = 0; run < ended; run += 1) toldByRetry.add(`${sessionID}/${run}`);
    }
    retried.clear();
  };

  const seeStored = (stored: Task[]) => {
    const kept = new Set(stored.map(({ sessionID }) => sessionID));
    for (const task of stored) see(task);
    for (const [id, task] of tasks) {
      if (kept.has(id) || gone.has(id)) continue;
      gone.add(id);
      leaving.add(id);
      if (!wasToGo(id)) fault(`${id} was removed though nobody asked for it`);
      noteQuietBatch(task);
    }
  };

  return {
    /** Compares a task with how it was seen last, and remembers it. */
    see,
    /** Sees all stored tasks, and what is stored no more, in the middle of a step. */
    seeStored,
    /** Returns the task as it was seen last. */
    of: (taskId: string) => tasks.get(taskId),
    all: () => [...tasks.values()],
    /** True when nothing of the task's batch was at work at some moment since that run ended. */
    wasLastOfBatch: (taskId: string, run: number) => lastOfBatch.has(`${taskId}/${run}`),
    /** True where the retry of the task that launched it began after that run's end, and told its agent of it. */
    wasToldByRetry: (taskId: string, run: number) => toldByRetry.has(`${taskId}/${run}`),
    /** Records that a session was asked to stop, or is gone: it and everything below it may end. */
    mayEnd: (sessionID: string) => void ends.add(sessionID),
    /** Records that a task was cleared: it and everything below it may be removed. */
    mayGo: (taskId: string) => {
      ends.add(taskId);
      removals.add(taskId);
    },
    /** Records that a task was removed because it had ended long enough ago. */
    isOutdated: (task: Task) => {
      see(task);
      gone.add(task.sessionID);
    },
    /** Records that a session was deleted: everything below it may be removed. */
    isDeleted: (sessionID: string) => {
      ends.add(sessionID);
      deleted.add(sessionID);
    },
    /** True for a task that is not stored any more. */
    isGone: (taskId: string) => gone.has(taskId),
    /** True if somebody deleted the session. */
    wasDeleted: (sessionID: string) => deleted.has(sessionID),
    /** Records that the task may be resumed or retried. */
    mayGoOn: (taskId: string) => void requests.set(taskId, (requests.get(taskId) ?? 0) + 1),
    /** True if its model ever refused. */
    wasRefused: (sessionID: string) => refused.has(sessionID),
    /** Records that the session's model refuses: its turn may be aborted, and another model may go on. */
    mayLeaveModel: (sessionID: string) => void refused.add(sessionID),
    /** Records that the session's provider never says why it stops: its turn may be ended. */
    mayEndTurn: (sessionID: string) => void endless.add(sessionID),
    /** Records that somebody pauses the task: its turn, and those of all below it, may be ended. */
    mayPause: (sessionID: string) => void paused.add(sessionID),
    /** Records that a person goes on in the session of a task that has ended. */
    comesBack: (sessionID: string) => void back.set(sessionID, back.get(sessionID) ?? now()),
    /** Since when a person has gone on in that session, epoch milliseconds; undefined where none has. */
    backSince: (sessionID: string) => back.get(sessionID),
    // The next one takes all tasks of a failed task for its own, and cancels them.
    /** Records that the process has ended, or that one has taken over tasks. */
    supervisorChanged: () => back.clear(),
    /** Records that the host was asked to abort the session. */
    aborts: (sessionID: string) => {
      const task = tasks.get(sessionID);
      aborted.set(sessionID, task ? runOf(task) : "");
    },
    /** Compares all stored tasks with what was seen, at the end of a step. */
    compare: (stored: Task[]) => {
      leaving.clear();
      seeStored(stored);
      leaving.clear();
      noteTold();
      for (const [id, run] of aborted) {
        const task = tasks.get(id);
        // What was aborted after its run had failed may have been retried since.
        const isOfNewest = task !== undefined && (run === "" || run === runOf(task));
        const mayStop = refused.has(id) || endless.has(id) || [id, ...above(id)].some((lead) => paused.has(lead));
        if (isOfNewest && !failed(task) && !wasToEnd(id) && !mayStop)
          fault(`the session of ${id} was aborted though nobody asked for it`);
      }
      aborted.clear();
    },
  };
};

/** Records how tasks were seen and what users and agents asked for. Anything else that happens to a task is a fault. */
export type TaskObservations = ReturnType<typeof createTaskObservations>;
