// What the shell knows of all live charts without asking any: when each has something to do, and whose task each is.
import type { SupervisorEvent } from "../../machines/supervisor/events.ts";
import type { TaskSnapshot } from "../../machines/task/machine.ts";
import type { Clock } from "../platform/clock.ts";

const NEVER = Number.POSITIVE_INFINITY;

/**
 * Creates an empty list of deadlines of charts by their ids, epoch milliseconds. Charts without one, which most are, cost
 * nothing. The earliest deadline is looked for only when the chart that had it has moved or lost it: nearly every event leaves
 * all deadlines as they are.
 */
export const createDeadlines = () => {
  const deadlines = new Map<string, { deadline: number; comesAt: number }>();
  let first = NEVER;
  /** False: the first one must be looked for. */
  let isKnown = true;

  return {
    /** Sets a chart's deadline; undefined when it has none any more. */
    set: (id: string, at: number | undefined = NEVER) => {
      const before = deadlines.get(id);
      if (at === (before?.deadline ?? NEVER)) return;
      if (at === NEVER) deadlines.delete(id);
      else deadlines.set(id, { deadline: at, comesAt: at });
      if (before?.comesAt === first) isKnown = false;
      else first = Math.min(first, at);
    },
    /** Returns when the earliest deadline comes; undefined when there is none. */
    earliest: (): number | undefined => {
      if (!isKnown) first = [...deadlines.values()].reduce((one, { comesAt }) => Math.min(one, comesAt), NEVER);
      isKnown = true;
      return first === NEVER ? undefined : first;
    },
    /** Returns the charts whose deadline has come, each with the deadline that it was given. */
    due: (now: number): { id: string; deadline: number }[] =>
      [...deadlines].flatMap(([id, { deadline, comesAt }]) => (comesAt <= now ? { id, deadline } : [])),
    /** Moves all deadlines earlier by so many milliseconds: the clock was set back by as much after they were set. */
    bringForward: (ms: number) => {
      for (const times of deadlines.values()) times.comesAt -= ms;
      isKnown = false;
    },
  };
};

type Deadlines = ReturnType<typeof createDeadlines>;

/**
 * Creates the one timer for the deadlines of all charts, which is not set. The deadlines are numbers in the charts' contexts, so
 * a timer that is lost, with its process for instance, loses nothing. `onDue` gets a `TICK` for each chart that has something
 * to do.
 */
export const createAlarm = (
  clock: Clock,
  { tasks, outboxes, launches }: { tasks: Deadlines; outboxes: Deadlines; launches: Deadlines },
  onDue: (ticks: SupervisorEvent[]) => void,
) => {
  let isStopped = false;
  /** What the timer is set to. */
  let firesAt = NEVER;
  let callOff: () => void = () => undefined;
  let seenAt = clock.now();

  /** Returns the time. Where it is not yet what it must be, the clock was set back: no chart waits longer for that. */
  const look = (atLeast = seenAt): number => {
    const now = clock.now();
    if (now < atLeast) for (const deadlines of [tasks, outboxes, launches]) deadlines.bringForward(atLeast - now);
    seenAt = now;
    return now;
  };

  /** Where the clock was set back, it is the time that a chart waits for: it looks at nothing else. */
  const ticksDue = (now: number): SupervisorEvent[] => {
    const tick = (deadline: number) => ({ type: "TICK", at: Math.max(now, deadline) }) as const;
    return [
      ...tasks.due(now).map(({ id, deadline }) => ({ type: "TASK", id, event: tick(deadline) }) as const),
      ...outboxes.due(now).map(({ id, deadline }) => ({ type: "OUTBOX", id, event: tick(deadline) }) as const),
      ...launches.due(now).map(({ id, deadline }) => ({ type: "PREPARATION", id, event: tick(deadline) }) as const),
    ];
  };

  const onTimer = () => {
    const now = look(Math.max(seenAt, firesAt));
    firesAt = NEVER;
    onDue(ticksDue(now));
  };

  return {
    /** Sets the timer to the earliest deadline; to be called whenever a chart took a step. */
    set: () => {
      const now = look();
      const next = Math.min(...[tasks, outboxes, launches].map((deadlines) => deadlines.earliest() ?? NEVER));
      if (isStopped || next === firesAt) return;
      callOff();
      firesAt = next;
      if (next !== NEVER) callOff = clock.after(Math.max(0, next - now), onTimer);
    },
    stop: () => {
      isStopped = true;
      callOff();
    },
  };
};

/** Creates groups of snapshots, by what their tasks have in common. Those that have nothing of the kind are a group, too. */
const createGroups = () => {
  const groups = new Map<string | undefined, Map<string, TaskSnapshot>>();
  return {
    add: (key: string | undefined, taskId: string, snapshot: TaskSnapshot) => {
      groups.set(key, (groups.get(key) ?? new Map()).set(taskId, snapshot));
    },
    remove: (key: string | undefined, taskId: string) => {
      const group = groups.get(key);
      if (group?.delete(taskId) && group.size === 0) groups.delete(key);
    },
    has: (key: string) => groups.has(key),
    of: (key: string): TaskSnapshot[] => [...(groups.get(key)?.values() ?? [])],
  };
};

/**
 * Creates the list of the snapshots of live tasks, and of whose tasks they are. Every question and every change takes the same
 * time, however many others live.
 */
export const createTaskIndex = () => {
  const snapshots = new Map<string, TaskSnapshot>();
  const ofParentSession = createGroups();
  const ofParentTask = createGroups();
  const active = new Map<string, TaskSnapshot>();

  return {
    /** The newest snapshots by task id. */
    snapshots,
    /** Adds a task, or its newer snapshot. */
    set: (snapshot: TaskSnapshot) => {
      const { sessionID, parentSessionID, parentTaskId } = snapshot.context.facts;
      ofParentSession.add(parentSessionID, sessionID, snapshot);
      ofParentTask.add(parentTaskId, sessionID, snapshot);
      snapshots.set(sessionID, snapshot);
      if (snapshot.value.run === "queued" && snapshot.value.attention === "none") active.delete(sessionID);
      else active.set(sessionID, snapshot);
    },
    delete: (taskId: string) => {
      const facts = snapshots.get(taskId)?.context.facts;
      ofParentSession.remove(facts?.parentSessionID, taskId);
      ofParentTask.remove(facts?.parentTaskId, taskId);
      active.delete(taskId);
      snapshots.delete(taskId);
    },
    /** Returns those that do more than wait for a slot: few, however many wait. */
    active: (): TaskSnapshot[] => [...active.values()],
    /** Returns the live tasks of a parent session. */
    of: ofParentSession.of,
    /** Returns the live tasks that were launched by this session, or by a descendant session of this task. */
    awaitedBy: (sessionID: string): TaskSnapshot[] => [
      ...new Set([...ofParentSession.of(sessionID), ...ofParentTask.of(sessionID)]),
    ],
    /** True while a live task belongs to this parent session. */
    hasTasksOf: ofParentSession.has,
    /** True while a live task was launched by this session, or by a descendant session of this task. */
    awaitsTasks: (sessionID: string): boolean => ofParentSession.has(sessionID) || ofParentTask.has(sessionID),
  };
};
