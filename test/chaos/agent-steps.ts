import type { TaskEvent } from "../../src/machines/task/events.ts";
import type { LaunchRequest } from "../../src/services/engine/requests.ts";
import type { Task } from "../../src/task.ts";
import { settled } from "../fakes/virtual-clock.ts";
import type { AgentCall } from "./agent-call.ts";
import {
  atWork,
  isRunning,
  isSummarizing,
  isThere,
  mayGoOn,
  people,
  pick,
  preferred,
  tasks,
  wasStopped,
} from "./choosing.ts";
import { INSTRUCTION } from "./people.ts";
import type { Simulation, StepActions } from "./simulation.ts";
import type { Step } from "./steps.ts";

/** The ids of the tasks that are listed one by one: of older batches only the heading is. */
const listedIn = (answer: string): string[] => [...answer.matchAll(/^- (\S+)/gm)].map(([, id = ""]) => id);

/** The agent of a session lists its tasks: those that it has, and no others. */
const checkList = ({ agents, stage, fault }: Simulation, sessionID: string): void => {
  const ids = () => stage.store.list({ parentSessionID: sessionID }).map((task) => task.sessionID);
  const before = ids();
  void agents.call(sessionID, { do: "list" }).then((answer) => {
    if (answer === undefined) return;
    const now = ids();
    const listed = listedIn(answer);
    const isShortened = answer.includes("Older batches show no tasks");
    for (const id of before) {
      if (now.includes(id) && !listed.includes(id) && !isShortened) fault(`the list of ${sessionID} lacks ${id}`);
    }
    for (const id of listed) {
      if (!before.includes(id) && !now.includes(id)) fault(`${sessionID} is listed ${id}, which is not its task`);
    }
  });
};

type LaunchStep = Extract<Step, { do: "launch" }>;

/** Launches a task with a priority: as a subtask is, but nobody waits for its end. */
const launchUrgently = (
  { stage }: Simulation,
  task: Pick<LaunchRequest, "parentSessionID" | "parentMessageID" | "prompt" | "wake" | "priority" | "agent" | "model">,
) => {
  const launched = stage.engine.launch({
    ...task,
    description: "find it at once",
    batchId: undefined,
    fork: false,
    worktree: undefined,
    schema: undefined,
    parentAgent: "build",
    directory: "/project",
    permit: async () => undefined,
    signal: new AbortController().signal,
  });
  // As with a tool call: whatever it throws is the answer, and the agent goes on.
  launched.catch(() => undefined);
};

/** The agent of a session launches a task. */
export const launch = async (
  world: Simulation,
  sessionID: string,
  {
    turn = "msg_turn",
    from = "message",
    priority = 0,
    agent = "general",
    model,
    wake,
    waits = false,
    answer = "stored",
  }: Partial<Omit<LaunchStep, "turn">> & { turn?: string } = {},
) => {
  const { agents, clock, host, tracks } = world;
  const prompt = `work on ${tracks.all().length + 1} at ${clock.now() % 10_000_000}`;
  if (priority !== 0 && !agents.words.hasPriorities) {
    launchUrgently(world, {
      ...{ parentSessionID: sessionID, parentMessageID: turn, prompt },
      ...{ wake, priority, agent, model },
    });
    return;
  }
  const launched: AgentCall = {
    ...{ do: "launch", title: "find it", prompt, agent, model, wake, priority, waits },
    isFork: from === "fork",
  };
  if (from === "message") {
    void agents.call(sessionID, launched, { turn, answer });
    return;
  }
  // No step begins while the conversation is summed up.
  if (isSummarizing(world, sessionID)) return;
  // The step of a turn: its batch is that of the turn, and a fork copies the messages before it.
  const step = `msg_step${host.at(sessionID).messages.length}`;
  const end = host.beginStep(sessionID, step);
  await clock.advance(1);
  if (!isThere(world, sessionID)) return;
  void agents.call(sessionID, launched, { turn: step, answer }).then(end);
};

/** The agent of a task launches another one, and waits for it in that tool call, or else in another one. */
const delegate = (world: Simulation, sessionID: string, timeout: number) => {
  const { agents } = world;
  const launched = { title: "find it for me", prompt: "Find it for me.", agent: "general", waits: true };
  void agents.call(sessionID, { do: "launch", ...launched }).then((answer) => {
    const taskId = answer === undefined ? undefined : agents.words.launchedIn(answer);
    if (taskId && isThere(world, sessionID)) void agents.call(sessionID, { do: "read", taskId, timeout });
  });
};

/** The events that a tool call may cause in a task. */
const ASKED: ReadonlySet<string> = new Set<TaskEvent["type"]>([
  "RESUME",
  "RETRY",
  "STEER",
  "CANCEL",
  "WAIT_BEGAN",
  "RESULT_READ",
]);

type Meddling = Extract<Step, { do: "meddle" }>["call"];

/** A session that is not the task's parent calls a tool on it. */
const meddle = async (world: Simulation, task: Task, kind: Meddling) => {
  const stranger = people(world).find((id) => id !== task.parentSessionID);
  if (!stranger) return;
  const asked = () => world.stage.store.journal(task.sessionID).filter(({ type }) => ASKED.has(type)).length;
  const before = asked();
  const { sessionID: id } = task;
  const isPrompt = kind === "resume" || kind === "retry" || kind === "steer";
  const answer = await Promise.race([
    world.agents.call(stranger, isPrompt ? { do: kind, taskId: id, prompt: "And for me?" } : { do: kind, taskId: id }),
    settled().then(() => undefined),
  ]);
  if (world.life().isOver()) return;
  if (answer !== undefined) world.fault(`${stranger} was let at ${id}, which is not its task: ${answer}`);
  if (asked() !== before) world.fault(`${id} was changed by ${stranger}, whose task it is not`);
};

/** What a task may do once its agent has asked for that. */
const ALLOWED = { cancel: "mayEnd", clear: "mayGo" } as const;

/** An agent cancels or clears a task. */
const endOne = (world: Simulation, kind: keyof typeof ALLOWED, task: Task | undefined) => {
  if (!task) return;
  const { sessionID: taskId, parentSessionID } = task;
  const allows = () => world.tracks[ALLOWED[kind]](taskId);
  void world.agents.call(parentSessionID, { do: kind, taskId }, { allows });
};

/** An agent cancels or clears all tasks of its session. */
const endAll = (world: Simulation, kind: keyof typeof ALLOWED, sessionID: string | undefined) => {
  if (!sessionID) return;
  const allows = () => {
    for (const task of tasks(world)) {
      if (task.parentSessionID === sessionID) world.tracks[ALLOWED[kind]](task.sessionID);
    }
  };
  void world.agents.call(sessionID, { do: kind }, { allows });
};

/** An agent has an ended task go on: a completed one by a follow-up, or one that was stopped from where it was. */
const goOn = (world: Simulation, kind: "resume" | "retry", which: number) => {
  const isMeant = kind === "retry" ? wasStopped : ({ status }: Task) => status === "completed";
  const ready = preferred(preferred(tasks(world), isMeant), (task) => isMeant(task) && mayGoOn(task));
  const chosen = pick(ready, which);
  if (!chosen) return;
  const { sessionID: taskId } = chosen;
  const allows = () => world.tracks.mayGoOn(taskId);
  void world.agents.call(chosen.parentSessionID, { do: kind, taskId, prompt: "And now?" }, { allows });
};

/** What agents do, by their tools. */
export const agentSteps = {
  launch: (world, { parent, turn, ...how }) => {
    const sessionID = pick(people(world), parent);
    return sessionID ? launch(world, sessionID, { ...how, turn: `msg_turn${turn}` }) : undefined;
  },
  launchBelow: (world, { task }) => {
    // Not an agent whose run is in the queue, or in another process.
    const lead = pick(atWork(world), task)?.sessionID;
    return lead ? launch(world, lead) : undefined;
  },
  delegate: (world, { task, timeout, lasts }) => {
    const lead = pick(atWork(world), task)?.sessionID;
    if (!lead) return;
    delegate(world, lead, timeout);
    return world.clock.advance(lasts);
  },
  resume: (world, { task }) => goOn(world, "resume", task),
  retry: (world, { task }) => goOn(world, "retry", task),
  steer: (world, { task }) => {
    const chosen = pick(preferred(tasks(world), isRunning), task);
    if (!chosen) return;
    const steer = { do: "steer", taskId: chosen.sessionID, prompt: INSTRUCTION } as const;
    void world.agents.call(chosen.parentSessionID, steer);
  },
  cancel: (world, { task }) => endOne(world, "cancel", pick(preferred(tasks(world), isRunning), task)),
  cancelAll: (world, { parent }) => endAll(world, "cancel", pick(people(world), parent)),
  clear: (world, { task }) => endOne(world, "clear", pick(tasks(world), task)),
  clearAll: (world, { parent }) => endAll(world, "clear", pick(people(world), parent)),
  read: (world, { task, whole, timeout, ...how }) => {
    const chosen = pick(preferred(tasks(world), isRunning), task);
    if (!chosen) return;
    const what = whole === "batch" ? { batchId: chosen.batchId } : { taskId: chosen.sessionID };
    void world.agents.call(chosen.parentSessionID, { do: "read", ...what, timeout }, how);
  },
  glance: (world, { task }) => {
    const chosen = pick(tasks(world), task);
    if (chosen) void world.agents.call(chosen.parentSessionID, { do: "read", taskId: chosen.sessionID });
  },
  list: (world, { parent }) => {
    const sessionID = pick(people(world), parent);
    if (sessionID) checkList(world, sessionID);
  },
  meddle: async (world, { task, call }) => {
    const chosen = pick(tasks(world), task);
    if (chosen) await meddle(world, chosen, call);
  },
} satisfies Partial<StepActions>;
