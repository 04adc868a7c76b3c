// ADR-248 in docs/decisions.md
import type { HostEvent, ToolCallEffect } from "../../machines/host-events.ts";
import { hasEnded, type Overlap, type Task } from "../../task.ts";
import type { Clock } from "../platform/clock.ts";
import type { EngineBus } from "../runtime/engine-events.ts";
import type { ProgressLog } from "../runtime/progress.ts";
import type { Store } from "../store/store.ts";
import { type OverlapLine, overlapWarning } from "../text/overlaps.ts";
import type { OwnText } from "../text/own-text.ts";
import { createFileLedger, type FileUse } from "./file-ledger.ts";

/** A tool call that has ended. */
export interface EndedCall {
  sessionID: string;
  /** What it did; undefined where that is not known. */
  effect: ToolCallEffect | undefined;
}

/**
 * Sees when an agent writes a file that another one uses, too: a task at work, or the session that launched one. Both are
 * told once, in the output of a tool call of theirs, for that wakes nobody and costs no turn; what the launching agent was
 * not told so stands in the notice of the task's end.
 */
export interface Overlaps {
  /** Takes a call that has ended. Returns what its agent is to be told with the call's output; undefined where nothing is. */
  onToolCallEnded(call: EndedCall): OwnText | undefined;
  /** Takes a command that begins, and the files that changed during a step. */
  onHostEvent(event: HostEvent): void;
}

/** A task at work in this process. */
export interface TaskAtWork {
  sessionID: string;
  parentSessionID: string;
  /** When its run began, epoch milliseconds. */
  startedAt: number;
}

/** What overlaps are seen by. */
export interface OverlapsDeps {
  clock: Clock;
  bus: EngineBus;
  progress: Pick<ProgressLog, "of" | "addOverlap" | "takeUntold">;
  store: Pick<Store, "storeProgress">;
  tasksAtWork(): TaskAtWork[];
  /** Returns a task as people see it. */
  get(taskId: string): Task | undefined;
  /** The task for which a session counts that has no task of its own. */
  taskAbove(sessionID: string): string | undefined;
  /** The session and all above it, nearest first. */
  ancestors(sessionID: string): string[];
}

/** Creates the record of the files that agents use. Nothing is recorded while no task is at work. */
export const createOverlaps = ({
  clock,
  bus,
  progress,
  store,
  tasksAtWork,
  get,
  taskAbove,
  ancestors,
}: OverlapsDeps): Overlaps => {
  const ledger = createFileLedger();
  /** When a session began the first command of its step, epoch milliseconds. */
  const commandsSince = new Map<string, number>();

  const atWork = (taskId: string): TaskAtWork | undefined =>
    tasksAtWork().find(({ sessionID }) => sessionID === taskId);

  const forget = (sessionID: string) => {
    ledger.forget(sessionID);
    commandsSince.delete(sessionID);
  };

  bus.on("taskChanged", (task) => {
    if (!hasEnded(task)) return;
    forget(task.sessionID);
    const { parentSessionID: caller } = task;
    if (!tasksAtWork().some(({ sessionID, parentSessionID }) => [sessionID, parentSessionID].includes(caller)))
      forget(caller);
  });

  /** Notes an overlap with a task's run. Returns whether it is new. */
  const add = ({ sessionID }: TaskAtWork, overlap: Overlap): boolean => {
    if (!progress.addOverlap(sessionID, overlap)) return false;
    storeProgress(sessionID);
    const changed = get(sessionID);
    if (changed) bus.emit("taskChanged", changed);
    return true;
  };

  /** Stored at once, so that who was told is known to the next process. */
  const storeProgress = (taskId: string) => {
    const counted = progress.of(taskId);
    if (counted) store.storeProgress(new Map([[taskId, counted]]));
  };

  const take = (taskId: string, who: Overlap["untold"][number]): Overlap[] => {
    const taken = progress.takeUntold(taskId, who);
    if (taken.length > 0) storeProgress(taskId);
    return taken;
  };

  /** Notes that a session wrote a file, in the tasks that this concerns. Returns what a writer without a task is to be told. */
  const onWrite = (writerID: string, path: string): OverlapLine[] => {
    const at = new Date(clock.now()).toISOString();
    const writer = atWork(writerID);
    return ledger.othersOf(writerID, path).flatMap((use): OverlapLine[] => {
      const user = atWork(use.sessionID);
      const isBelow = writer !== undefined && ancestors(writerID).includes(use.sessionID);
      const isAbove = user !== undefined && ancestors(use.sessionID).includes(writerID);
      // What the launching agent did before is what it launched the task with. A person's session counts for its tasks only.
      const counts = isBelow ? use.at >= writer.startedAt : isAbove || (writer !== undefined && user !== undefined);
      if (!counts) return [];
      const isNew = [
        writer !== undefined &&
          add(writer, {
            path,
            at,
            did: "wrote",
            other: { sessionID: use.sessionID, did: use.did },
            // Where the other agent launched the writer, it is told as a task, too.
            untold: user && isBelow ? ["agent"] : ["agent", "caller"],
          }),
        user !== undefined &&
          add(user, {
            path,
            at,
            did: use.did,
            other: { sessionID: writerID, did: "wrote" },
            // The agent that launched both is told once.
            untold: isAbove || writer?.parentSessionID === user.parentSessionID ? ["agent"] : ["agent", "caller"],
          }),
      ].includes(true);
      return isNew && !writer ? [{ path, you: "wrote", by: use.sessionID, did: use.did }] : [];
    });
  };

  const use = (sessionID: string, path: string, did: FileUse): OverlapLine[] => {
    const found = did === "wrote" ? onWrite(sessionID, path) : [];
    ledger.note(sessionID, path, did, clock.now());
    return found;
  };

  const usesOf = (effect: ToolCallEffect | undefined): [path: string, did: FileUse][] => {
    if (effect?.kind === "read") return [[effect.path, "read"]];
    return effect?.kind === "write" ? effect.files.map(({ path }) => [path, "wrote"]) : [];
  };

  // What was overlapped before the takeover has been noted: from here on it matters who used what.
  bus.on("storedEventsRead", (events) => {
    for (const event of events) {
      if (event.type !== "toolCall") continue;
      for (const [path, did] of usesOf(event.effect)) ledger.note(event.sessionID, path, did, clock.now());
    }
  });

  /** What the agent of a session is to be told: of its own task's files, and of those of the tasks that it launched. */
  const untoldOf = (sessionID: string): OverlapLine[] => {
    const own = take(sessionID, "agent").map(({ path, did, other }) => ({
      ...{ path, you: did, by: other.sessionID, did: other.did },
    }));
    const launched = tasksAtWork().filter(({ parentSessionID }) => parentSessionID === sessionID);
    const ofTasks = launched.flatMap(({ sessionID: taskId }) =>
      take(taskId, "caller").map(({ path, did, other }): OverlapLine => {
        const isYou = other.sessionID === sessionID;
        const line = { path, by: taskId, did };
        return isYou ? { ...line, you: other.did } : { ...line, also: { by: other.sessionID, did: other.did } };
      }),
    );
    return [...own, ...ofTasks];
  };

  return {
    onToolCallEnded: ({ sessionID, effect }) => {
      if (tasksAtWork().length === 0) return undefined;
      const user = taskAbove(sessionID) ?? sessionID;
      const found = usesOf(effect).flatMap(([path, did]) => use(user, path, did));
      const told = [...found, ...untoldOf(user)];
      return told.length === 0 ? undefined : overlapWarning(told, (taskId) => get(taskId)?.description);
    },
    onHostEvent: (event) => {
      if (event.type === "toolCall" && event.tool === "bash" && event.stage === "begun") {
        const user = taskAbove(event.sessionID) ?? event.sessionID;
        if (!commandsSince.has(user)) commandsSince.set(user, clock.now());
      }
      if (event.type !== "filesChanged") return;
      const user = taskAbove(event.sessionID) ?? event.sessionID;
      const since = commandsSince.get(user);
      commandsSince.delete(user);
      // Without a command, whoever changed them is known by a tool of its own.
      if (since === undefined || tasksAtWork().length === 0) return;
      for (const path of event.files) {
        const isOthers = ledger.othersOf(user, path).some(({ did, at }) => did === "wrote" && at >= since);
        if (!isOthers) use(user, path, "wrote");
      }
    },
  };
};
