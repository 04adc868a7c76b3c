import type { TaskEvent } from "../../src/machines/task/events.ts";
import type { LaunchRequest } from "../../src/services/engine.ts";
import type { Task } from "../../src/task.ts";
import { settled } from "../fakes/virtual-clock.ts";
import { atWork, isRunning, isThere, people, pick, preferred, tasks } from "./choosing.ts";
import { INSTRUCTION } from "./people.ts";
import type { Simulation } from "./simulation.ts";
import type { StepActions } from "./step-action.ts";
import type { Step } from "./steps.ts";

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
  }: Partial<Omit<LaunchStep, "turn">> & { turn?: string } = {},
) => {
  const { agents, clock, host, tracks } = world;
  const prompt = `work on ${tracks.all().length + 1} at ${clock.now() % 10_000_000}`;
  if (priority !== 0) {
    launchUrgently(world, {
      ...{ parentSessionID: sessionID, parentMessageID: turn, prompt },
      ...{ wake, priority, agent, model },
    });
    return;
  }
  const launched = {
    description: "find it",
    prompt,
    agent,
    wake,
    ...(model === undefined ? {} : { model }),
    ...(from === "fork" ? { fork: true } : {}),
  };
  if (from === "message") {
    void agents.call(sessionID, "task", launched, { turn });
    return;
  }
  // The step of a turn: its batch is that of the turn, and a fork copies the messages before it.
  const step = `msg_step${host.at(sessionID).messages.length}`;
  const end = host.beginStep(sessionID, step);
  await clock.advance(1);
  if (!isThere(world, sessionID)) return;
  void agents.call(sessionID, "task", launched, { turn: step }).then(end);
};

/** The agent of a task launches another one, and waits for it in a tool call. */
const delegate = ({ agents }: Simulation, sessionID: string, timeout: number) => {
  const launched = { description: "find it for me", prompt: "Find it for me.", agent: "general" };
  void agents.call(sessionID, "task", launched).then((answer = "") => {
    const [, taskId] = /^Task (\S+) is running/.exec(answer) ?? [];
    if (taskId) void agents.call(sessionID, "output", { task_id: taskId, block: true, timeout });
  });
};

/** The events that a tool call may cause in a task. */
const ASKED: ReadonlySet<string> = new Set<TaskEvent["type"]>([
  "RESUME",
  "STEER",
  "CANCEL",
  "WAIT_BEGAN",
  "RESULT_READ",
]);

/** A session that is not the task's parent calls a tool on it. */
const meddle = async (world: Simulation, task: Task, tool: "resume" | "steer" | "cancel" | "clear" | "output") => {
  const stranger = people(world).find((id) => id !== task.parentSessionID);
  if (!stranger) return;
  const asked = () => world.stage.store.journal(task.sessionID).filter(({ type }) => ASKED.has(type)).length;
  const before = asked();
  const { sessionID: id } = task;
  const isPrompt = tool === "resume" || tool === "steer";
  const args = isPrompt ? { [tool]: id, prompt: "And for me?" } : { task_id: id };
  const answer = await Promise.race([
    world.agents.call(stranger, isPrompt ? "task" : tool, args),
    settled().then(() => undefined),
  ]);
  if (world.life().isOver()) return;
  if (answer !== undefined) world.fault(`${stranger} was let at ${id}, which is not its task: ${answer}`);
  if (asked() !== before) world.fault(`${id} was changed by ${stranger}, whose task it is not`);
};

/** What agents do, by their tools. */
export const agentSteps = {
  launch: (world, { parent, turn, ...how }) => {
    const sessionID = pick(people(world), parent);
    return sessionID ? launch(world, sessionID, { ...how, turn: `msg_turn${turn}` }) : undefined;
  },
  launchBelow: (world, { task }) => {
    const lead = pick(tasks(world).filter(isRunning), task)?.sessionID;
    if (!lead || !isThere(world, lead)) return;
    // Where several processes share the store, an agent launches in the one in which it works.
    if (world.ownership && !world.host.at(lead).busy) return;
    return launch(world, lead);
  },
  delegate: (world, { task, timeout, lasts }) => {
    const lead = pick(atWork(world), task)?.sessionID;
    if (!lead) return;
    delegate(world, lead, timeout);
    return world.clock.advance(lasts);
  },
  resume: (world, { task }) => {
    const chosen = pick(
      preferred(tasks(world), ({ status }) => status === "completed"),
      task,
    );
    if (!chosen) return;
    world.tracks.mayResume(chosen.sessionID);
    void world.agents.call(chosen.parentSessionID, "task", { resume: chosen.sessionID, prompt: "And now?" });
  },
  steer: (world, { task }) => {
    const chosen = pick(preferred(tasks(world), isRunning), task);
    if (chosen)
      void world.agents.call(chosen.parentSessionID, "task", { steer: chosen.sessionID, prompt: INSTRUCTION });
  },
  cancel: (world, { task }) => {
    const chosen = pick(preferred(tasks(world), isRunning), task);
    if (!chosen) return;
    world.tracks.mayEnd(chosen.sessionID);
    void world.agents.call(chosen.parentSessionID, "cancel", { task_id: chosen.sessionID });
  },
  cancelAll: (world, { parent }) => {
    const sessionID = pick(people(world), parent);
    if (!sessionID) return;
    for (const task of tasks(world)) if (task.parentSessionID === sessionID) world.tracks.mayEnd(task.sessionID);
    void world.agents.call(sessionID, "cancel", { all: true });
  },
  clear: (world, { task }) => {
    const chosen = pick(tasks(world), task);
    if (!chosen) return;
    world.tracks.mayGo(chosen.sessionID);
    void world.agents.call(chosen.parentSessionID, "clear", { task_id: chosen.sessionID });
  },
  clearAll: (world, { parent }) => {
    const sessionID = pick(people(world), parent);
    if (!sessionID) return;
    for (const task of tasks(world)) if (task.parentSessionID === sessionID) world.tracks.mayGo(task.sessionID);
    void world.agents.call(sessionID, "clear", {});
  },
  read: (world, { task, whole, timeout, ...how }) => {
    const chosen = pick(preferred(tasks(world), isRunning), task);
    if (!chosen) return;
    const what = whole === "batch" ? { batch_id: chosen.batchId } : { task_id: chosen.sessionID };
    void world.agents.call(chosen.parentSessionID, "output", { ...what, block: true, timeout }, how);
  },
  glance: (world, { task }) => {
    const chosen = pick(tasks(world), task);
    if (chosen) void world.agents.call(chosen.parentSessionID, "output", { task_id: chosen.sessionID });
  },
  meddle: async (world, { task, tool }) => {
    const chosen = pick(tasks(world), task);
    if (chosen) await meddle(world, chosen, tool);
  },
} satisfies Partial<StepActions>;
