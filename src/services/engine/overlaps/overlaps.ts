import type { HostEvent, ToolCallEffect } from "../../../machines/host-events.ts";
import type { Overlap } from "../../../task.ts";
import { type OverlapLine, overlapWarning } from "../../text/overlap-text.ts";
import type { OwnText } from "../../text/own-text.ts";
import type { EngineContext } from "../context.ts";
import { getTask } from "../operations/read-task.ts";

/** What an agent did with a file. */
type FileUse = "read" | "wrote";

/** A use of a file by another agent: a write, where it both read and wrote the file. */
interface OtherUse {
  sessionID: string;
  did: FileUse;
  /** When it last used the file, epoch milliseconds. */
  at: number;
}

/**
 * Creates a ledger of which sessions have used which files. It grows by one small entry for each file that a session uses, until
 * that is forgotten.
 */
const createFileLedger = () => {
  const uses = new Map<string, Map<string, Omit<OtherUse, "sessionID">>>();
  const lastWrites = new Map<string, { sessionID: string; at: number }>();

  return {
    /** Notes that a session used a file at `at`, epoch milliseconds. */
    note: (sessionID: string, path: string, did: FileUse, at: number) => {
      const own = uses.get(sessionID) ?? new Map<string, Omit<OtherUse, "sessionID">>();
      uses.set(sessionID, own);
      own.set(path, { did: own.get(path)?.did === "wrote" ? "wrote" : did, at });
      if (did === "wrote") lastWrites.set(path, { sessionID, at });
    },
    /** Returns what the other sessions did with a file. */
    othersOf: (sessionID: string, path: string): OtherUse[] =>
      [...uses].flatMap(([other, files]) => {
        const use = other === sessionID ? undefined : files.get(path);
        return use ? { sessionID: other, ...use } : [];
      }),
    /** True if another session's tool was the last one that wrote a file, at `since` or later. It may be forgotten since. */
    wasWrittenByOther: (sessionID: string, path: string, since: number): boolean => {
      const last = lastWrites.get(path);
      return last !== undefined && last.sessionID !== sessionID && last.at >= since;
    },
    /** Forgets what a session did, but for its being the last to write a file. */
    forget: (sessionID: string) => void uses.delete(sessionID),
    /** Forgets everything. */
    clear: () => {
      uses.clear();
      lastWrites.clear();
    },
  };
};

/** A tool call that has ended. */
interface EndedCall {
  sessionID: string;
  /** What it did; undefined where that is not known. */
  effect: ToolCallEffect | undefined;
  /** False where nothing may be added to its output: it is read by a program. */
  mayAdd: boolean;
}

/** Lines that are kept for a session whose tool calls cannot say them. */
const MAX_KEPT = 50;

/**
 * Creates the record of the files that agents use, by which it is seen when an agent writes a file that another one uses, too:
 * a task at work, or an ancestor of one. Both are notified once, in the output of a tool call of theirs, for that wakes nobody
 * and costs no turn; what the launching agent has not read there is in the task's notice. Nothing is recorded
 * while no task is at work.
 */
export const createOverlaps = (ctx: EngineContext) => {
  const { clock, bus, progress, store, runtime, ancestorTask } = ctx;
  const { ancestors } = ctx.sessionTree;
  const get = (taskId: string) => getTask(ctx, taskId);
  const ledger = createFileLedger();
  /** When a session began the first command of its step, epoch milliseconds. */
  const commandsSince = new Map<string, number>();
  /** What sessions are notified of with a later call: a distant ancestor of a task, or one whose output could not say it. */
  const kept = new Map<string, OverlapLine[]>();

  /** The tasks at work, each with its ancestors. */
  const tasksAtWork = new Map<string, readonly string[]>();
  /** True for those tasks and their ancestors: what others do with files concerns nobody. */
  const isConcerned = (sessionID: string) => [...tasksAtWork.values()].some((chain) => chain.includes(sessionID));

  /** Returns a task of this process whose run has not ended. */
  const atWork = (taskId: string) => {
    const context = runtime.snapshotOf(taskId)?.context;
    if (!context || context.completedAt !== undefined) return undefined;
    return { sessionID: taskId, parentSessionID: context.facts.parentSessionID, startedAt: context.run.startedAt };
  };
  const isAbove = (sessionID: string, taskId: string) => ancestors(taskId).includes(sessionID);

  /** Notes whether a task is at work. */
  const follow = (taskId: string) => {
    if (atWork(taskId)) tasksAtWork.set(taskId, ancestors(taskId));
    else tasksAtWork.delete(taskId);
  };

  const forget = (sessionID: string) => {
    if (tasksAtWork.size === 0) {
      ledger.clear();
      commandsSince.clear();
    } else if (!isConcerned(sessionID)) {
      ledger.forget(sessionID);
      commandsSince.delete(sessionID);
    }
  };

  bus.on("taskChanged", ({ sessionID, parentSessionID }) => {
    follow(sessionID);
    if (!tasksAtWork.has(sessionID)) [sessionID, parentSessionID].forEach(forget);
  });
  bus.on("tasksLost", (lost) => {
    for (const { sessionID } of lost) follow(sessionID);
    for (const { sessionID } of lost) forget(sessionID);
  });

  const keep = (sessionID: string, lines: readonly OverlapLine[]) =>
    kept.set(sessionID, [...(kept.get(sessionID) ?? []), ...lines].slice(-MAX_KEPT));

  /** Notes an overlap with a task's run. Returns whether it is new. */
  const add = ({ sessionID }: { sessionID: string }, overlap: Overlap): boolean => {
    if (!progress.addOverlap(sessionID, overlap)) return false;
    storeProgress(sessionID);
    const changed = get(sessionID);
    if (changed) bus.emit("taskChanged", changed);
    return true;
  };

  /** Stored at once, so that the next process knows who was notified. */
  const storeProgress = (taskId: string) => {
    const counted = progress.of(taskId);
    if (counted) store.storeProgress(new Map([[taskId, counted]]));
  };

  const take = (taskId: string, who: Overlap["untold"][number]): Overlap[] => {
    const taken = progress.takeUntold(taskId, who);
    if (taken.length > 0) storeProgress(taskId);
    return taken;
  };

  /**
   * Notes that a session wrote a file, in the tasks that this concerns. Ancestors of a task that did not launch it, and the
   * writer where it is one, are notified with a later call of theirs.
   */
  const onWrite = (writerID: string, path: string) => {
    const at = new Date(clock.now()).toISOString();
    const writer = atWork(writerID);
    for (const use of ledger.othersOf(writerID, path)) {
      const user = atWork(use.sessionID);
      const isBelow = writer !== undefined && isAbove(use.sessionID, writerID);
      const isOwn = user !== undefined && isAbove(writerID, use.sessionID);
      // What an ancestor did before the launch is what the task was launched with. A person's session counts for its tasks only.
      const counts = isBelow ? use.at >= writer.startedAt : isOwn || (writer !== undefined && user !== undefined);
      if (!counts) continue;
      const isNew = [
        writer !== undefined &&
          add(writer, {
            ...{ path, at, did: "wrote", other: { sessionID: use.sessionID, did: use.did } },
            // Where the other agent launched the writer, it is notified as a task, too.
            untold: user && isBelow ? ["agent"] : ["agent", "caller"],
          }),
        user !== undefined &&
          add(user, {
            ...{ path, at, did: use.did, other: { sessionID: writerID, did: "wrote" } },
            // The agent that launched both is notified once.
            untold: isOwn || writer?.parentSessionID === user.parentSessionID ? ["agent"] : ["agent", "caller"],
          }),
      ].includes(true);
      if (!isNew) continue;
      if (!writer) keep(writerID, [{ path, you: "wrote", by: use.sessionID, did: use.did }]);
      if (!user && isBelow && writer.parentSessionID !== use.sessionID)
        keep(use.sessionID, [{ path, you: use.did, by: writerID, did: "wrote" }]);
    }
  };

  const use = (sessionID: string, path: string, did: FileUse) => {
    if (did === "wrote") onWrite(sessionID, path);
    ledger.note(sessionID, path, did, clock.now());
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

  /** Takes what the agent of a session is notified of: its own task's files, and those of the tasks that it launched. */
  const takeLines = (sessionID: string): OverlapLine[] => {
    const own = take(sessionID, "agent").map(({ path, did, other }) => ({
      ...{ path, you: did, by: other.sessionID, did: other.did },
    }));
    const launched = runtime.liveTasksOf(sessionID).map(({ context }) => context.facts.sessionID);
    const ofTasks = launched.flatMap((taskId) =>
      take(taskId, "caller").map(({ path, did, other }): OverlapLine => {
        const isYou = other.sessionID === sessionID;
        const line = { path, by: taskId, did };
        return isYou ? { ...line, you: other.did } : { ...line, also: { by: other.sessionID, did: other.did } };
      }),
    );
    const later = kept.get(sessionID) ?? [];
    kept.delete(sessionID);
    return [...later, ...own, ...ofTasks];
  };

  return {
    /** Handles a call that has ended. Returns what is to be added to its output for its agent; undefined where nothing is. */
    onToolCallEnded: ({ sessionID, effect, mayAdd }: EndedCall): OwnText | undefined => {
      const user = ancestorTask(sessionID) ?? sessionID;
      if (isConcerned(user)) for (const [path, did] of usesOf(effect)) use(user, path, did);
      const lines = takeLines(user);
      if (lines.length === 0) return undefined;
      if (mayAdd) return overlapWarning(lines, { get, launcher: get(user)?.parentSessionID });
      keep(user, lines);
      return undefined;
    },
    /** Handles a command that begins, and the files that changed during a step. */
    onHostEvent: (event: HostEvent) => {
      if (event.type === "toolCall" && event.tool === "bash" && event.stage === "begun") {
        const user = ancestorTask(event.sessionID) ?? event.sessionID;
        if (!commandsSince.has(user) && isConcerned(user)) commandsSince.set(user, clock.now());
      }
      if (event.type !== "filesChanged") return;
      const user = ancestorTask(event.sessionID) ?? event.sessionID;
      const since = commandsSince.get(user);
      commandsSince.delete(user);
      // Without a command, whoever changed them is known by a tool of its own.
      if (since === undefined) return;
      for (const path of event.files) if (!ledger.wasWrittenByOther(user, path, since)) use(user, path, "wrote");
    },
  };
};

export type Overlaps = ReturnType<typeof createOverlaps>;
