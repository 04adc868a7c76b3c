import type { TaskEvent } from "../../src/machines/task-events.ts";
import type { Clock } from "../../src/services/clock.ts";
import type { ShownChange, ShownTask, StatusSource } from "../../src/services/http/source.ts";
import { type Outcome, refuse } from "../../src/services/outcome.ts";
import { hasEnded, noProgress, type TaskStatus } from "../../src/task.ts";

/** A status source in memory, that a test changes as it likes. */
export interface FakeSource extends StatusSource {
  /** Launches a task; what is not given is made up. */
  launch(given?: Partial<ShownTask>): ShownTask;
  /** Changes a task. With `elsewhere`, another process does: nobody is told. */
  change(id: string, changes: Partial<ShownTask>, options?: { elsewhere?: boolean }): ShownTask;
  /** Ends a task's run. */
  end(id: string, status?: "completed" | "error" | "cancelled", options?: { elsewhere?: boolean }): ShownTask;
  /** What tasks were asked to do, such as `cancel ses_0001`. */
  asked: string[];
  messages: Map<string, unknown[]>;
  /** How the host answers when it gives no messages, and how tasks answer when they refuse. */
  refusal: string | undefined;
  /** How many listen to changes. */
  listeners(): number;
  /** Called before each reading of all live tasks: somewhere, something may happen just then. */
  beforeLive: (() => void) | undefined;
}

interface Kept {
  task: ShownTask;
  born: number;
  change: number;
}

export const createFakeSource = (clock: Clock): FakeSource => {
  const kept = new Map<string, Kept>();
  const listeners = new Set<() => void>();
  let changes = 0;
  let count = 0;

  const now = () => new Date(clock.now()).toISOString();
  const all = () => [...kept.values()];
  const tasksWhere = (fits: (task: ShownTask) => boolean) => all().flatMap(({ task }) => (fits(task) ? [task] : []));
  const tell = () => {
    for (const listener of listeners) listener();
  };

  const store = (task: ShownTask, elsewhere = false): ShownTask => {
    changes += 1;
    kept.set(task.sessionID, { task, born: kept.get(task.sessionID)?.born ?? changes, change: changes });
    if (!elsewhere) tell();
    return task;
  };

  const at = (id: string): ShownTask => {
    const found = kept.get(id);
    if (!found) throw new Error(`the test has no task ${id}`);
    return found.task;
  };

  const asked = (what: string, id: string): Promise<Outcome<ShownTask>> => {
    source.asked.push(`${what} ${id}`);
    return Promise.resolve(source.refusal === undefined ? { ok: true, value: at(id) } : refuse(source.refusal));
  };

  const source: FakeSource = {
    asked: [],
    messages: new Map(),
    refusal: undefined,
    beforeLive: undefined,
    listeners: () => listeners.size,
    launch: (given = {}) => {
      count += 1;
      return store({
        sessionID: `ses_${String(count).padStart(4, "0")}`,
        parentSessionID: "ses_parent",
        parentMessageID: "msg_turn",
        parentAgent: "build",
        author: "build",
        directory: "/project",
        description: `task number ${count}`,
        prompt: "Find it.",
        agent: "general",
        model: { providerID: "fake", modelID: "m1" },
        startedAt: now(),
        runStartedAt: now(),
        batchId: "msg_turn",
        isForked: false,
        priority: 0,
        status: "running",
        state: "running.working",
        childTaskIds: [],
        resumeCount: 0,
        progress: noProgress(now()),
        allowed: ["CANCEL"],
        ...given,
      });
    },
    change: (id, given, { elsewhere = false } = {}) => store({ ...at(id), ...given }, elsewhere),
    end: (id, status = "completed", { elsewhere = false } = {}) =>
      store(
        {
          ...at(id),
          status,
          state: status,
          completedAt: now(),
          allowed: status === "completed" ? ["RESUME"] : [],
          ...(status === "completed" ? { result: "There are 12.", summary: "There are 12." } : {}),
          ...(status === "error"
            ? {
                error: { name: "APIError", kind: "provider" as const, message: "overloaded" },
                failureReason: "overloaded",
              }
            : {}),
        },
        elsewhere,
      ),

    page: ({ status, agent, directory, batchId, search, limit, offset }) => {
      const fits = (task: ShownTask) =>
        (status === undefined || task.status === status) &&
        (agent === undefined || task.agent === agent) &&
        (directory === undefined || task.directory === directory) &&
        (batchId === undefined || task.batchId === batchId) &&
        (search === undefined || task.description.toLowerCase().includes(search.toLowerCase()));
      const found = tasksWhere(fits).toReversed();
      return { tasks: found.slice(offset, offset + limit), total: found.length };
    },
    task: (id) => kept.get(id)?.task,
    batch: (batchId) => tasksWhere((task) => task.batchId === batchId),
    journal: (id) => {
      const events: TaskEvent[] = [
        { type: "SLOT_GRANTED", at: 1 },
        { type: "PROMPT_ACCEPTED", at: 2 },
      ];
      return kept.has(id) ? events : undefined;
    },
    tallies: () => {
      const tasks = tasksWhere(() => true);
      const byStatus: Record<TaskStatus, number> = { running: 0, completed: 0, error: 0, cancelled: 0, resumed: 0 };
      const byAgent: Record<string, number> = {};
      const durations: number[] = [];
      for (const task of tasks) {
        byStatus[task.status] += 1;
        byAgent[task.agent] = (byAgent[task.agent] ?? 0) + 1;
        if (task.completedAt) durations.push(Date.parse(task.completedAt) - Date.parse(task.runStartedAt));
      }
      const sum = durations.reduce((total, duration) => total + duration, 0);
      const duration =
        durations.length === 0
          ? { avg: 0, max: 0, min: 0 }
          : { avg: sum / durations.length, max: Math.max(...durations), min: Math.min(...durations) };
      return { total: tasks.length, byStatus, byAgent, duration };
    },
    live: () => {
      source.beforeLive?.();
      return tasksWhere((task) => !hasEnded(task));
    },
    newestEnded: (most) =>
      tasksWhere(hasEnded)
        .sort((one, other) => String(other.completedAt).localeCompare(String(one.completedAt)))
        .slice(0, most),
    latestChange: () => changes,
    changedSince: (change, limit): ShownChange[] =>
      all()
        .filter((one) => one.change > change)
        .sort((one, other) => one.change - other.change)
        .slice(0, limit),
    logs: (id) => {
      if (source.refusal !== undefined) return Promise.resolve(refuse(source.refusal));
      return Promise.resolve({ ok: true, value: source.messages.get(id) ?? [] });
    },
    cancel: (id) => asked("cancel", id),
    resume: (id, prompt) => asked(`resume with ${JSON.stringify(prompt)}`, id),
    answer: (id, answer) => asked(`answer ${JSON.stringify(answer)}`, id),
    machines: () => ({ task: { id: "task", states: { running: {} } }, outbox: { id: "outbox" } }),
    onChange: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  return source;
};
