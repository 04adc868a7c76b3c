import type { TaskEvent } from "../../src/machines/task/events.ts";
import type { LaunchRequest } from "../../src/services/engine.ts";
import { hasEnded, type Task } from "../../src/task.ts";
import { settled } from "../fakes/virtual-clock.ts";
import { wholeTasks } from "../services/store/whole-tasks.ts";
import { ask, callTools, dawdle, overspend, runTool, spend } from "./budgets.ts";
import { answerByApi, askByApi, fitsApi, INSTRUCTION } from "./people.ts";
import { finishRun } from "./settle-down.ts";
import { USER_SESSIONS } from "./shared-parts.ts";
import type { Simulation } from "./simulation.ts";
import type { Step } from "./steps.ts";

/** The action of each kind of step. */
type StepActions = { [Do in Step["do"]]: (world: Simulation, step: Extract<Step, { do: Do }>) => Promise<void> | void };

type LaunchStep = Extract<Step, { do: "launch" }>;

const pick = <T>(from: T[], which: number): T | undefined => from.at(which % Math.max(1, from.length));

/** Returns the tasks that a step is meant for, or all if there are none: calls that will be refused should be tried too. */
const preferred = (tasks: Task[], isMeant: (task: Task) => boolean): Task[] => {
  const meant = tasks.filter(isMeant);
  return meant.length > 0 ? meant : tasks;
};

const isRunning = (task: Task): boolean => !hasEnded(task);

const sessions = ({ host }: Simulation): string[] => host.sessionIDs();
const isThere = (world: Simulation, id: string): boolean => sessions(world).includes(id);
const people = (world: Simulation): string[] => USER_SESSIONS.filter((id) => isThere(world, id));
const busy = (world: Simulation): string[] => sessions(world).filter((id) => world.host.at(id).busy);
/** Returns the tasks whose sessions exist. */
const tasks = (world: Simulation): Task[] =>
  wholeTasks(world.stage.store).filter(({ parentSessionID }) => isThere(world, parentSessionID));

/** Somebody deletes a session. */
const remove = (world: Simulation, sessionID: string) => {
  world.tracks.isDeleted(sessionID);
  world.agents.abort(sessionID);
  world.host.delete(sessionID);
};

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

const launch = async (
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

export const stepActions: StepActions = {
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
    const working = busy(world);
    const leads = tasks(world).filter((lead) => isRunning(lead) && working.includes(lead.sessionID));
    const lead = pick(leads, task)?.sessionID;
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

  abort: (world, { session }) => {
    const sessionID = pick(busy(world).concat(people(world)), session);
    if (!sessionID) return;
    if (!USER_SESSIONS.includes(sessionID)) world.tracks.mayEnd(sessionID);
    world.agents.abort(sessionID);
    if (world.host.at(sessionID).busy) world.host.abortByPerson(sessionID);
  },
  converse: (world, { parent }) => {
    const sessionID = pick(people(world), parent);
    if (sessionID && !world.host.at(sessionID).busy) world.host.converse(sessionID);
  },
  comeBack: async (world, { task }) => {
    const ended = tasks(world).filter(({ status }) => status === "error" || status === "cancelled");
    const sessionID = pick(
      ended.filter((one) => isThere(world, one.sessionID)),
      task,
    )?.sessionID;
    if (!sessionID || world.host.at(sessionID).busy) return;
    // A process that has died did not tell that the task ended.
    world.look();
    world.tracks.comesBack(sessionID);
    world.host.converse(sessionID);
    // What was launched before is told apart by its time.
    await world.clock.advance(1);
    if (isThere(world, sessionID)) await launch(world, sessionID);
  },
  deleteChild: (world, { task }) => {
    const sessionID = pick(tasks(world), task)?.sessionID;
    if (sessionID && isThere(world, sessionID)) remove(world, sessionID);
  },
  deleteParent: (world, { parent }) => {
    const sessionID = pick(people(world), parent);
    if (sessionID) remove(world, sessionID);
  },

  copy: async (world, { parent, before }) => {
    const sessionID = pick(people(world), parent);
    if (!sessionID) return;
    const asked = world.host.at(sessionID).messages.filter(({ role }) => role === "user");
    const copied = await world.host.fork(sessionID, before === undefined ? "" : (pick(asked, before)?.id ?? ""));
    if (copied.ok) world.copies.add(copied.value.id);
  },

  answer: (world, { session, idles, unwritten, unseen }) => {
    const sessionID = pick(busy(world), session);
    if (sessionID) finishRun(world, sessionID, { idles, unwritten, unseen });
  },
  fail: (world, { session }) => {
    const sessionID = pick(busy(world), session);
    if (!sessionID) return;
    world.agents.abort(sessionID);
    world.host.fail(sessionID, { name: "APIError", message: "401" });
  },
  goOnAfterError: (world, { session, idle }) => {
    const sessionID = pick(busy(world), session);
    if (sessionID) world.host.goOnAfterError(sessionID, { name: "APIError", message: "overloaded" }, { idle });
  },
  compact: (world, { session, ms, overflow }) => {
    // A session that was aborted is left as it is: as soon as it is busy, the engine takes the abort for a person's.
    const wasAborted = (id: string) => world.host.at(id).messages.at(-1)?.error !== undefined;
    const sessionID = pick(
      sessions(world).filter((id) => !wasAborted(id)),
      session,
    );
    if (sessionID) world.host.compact(sessionID, { ms, overflow });
  },
  breakOff: (world, { session }) => {
    const sessionID = pick(busy(world), session);
    if (sessionID) world.host.breakOff(sessionID);
  },
  refuseModel: (world, { session }) => {
    const sessionID = pick(busy(world), session);
    if (!sessionID) return;
    world.tracks.mayLeaveModel(sessionID);
    world.agents.abort(sessionID);
    world.host.fail(sessionID, { name: "APIError", message: "no credit", refusal: "quota" });
  },
  refuseForNow: (world, { session, ms }) => {
    const sessionID = pick(busy(world), session);
    if (!sessionID) return;
    world.tracks.mayLeaveModel(sessionID);
    world.host.refuseForNow(sessionID, ms);
  },
  ask: (world, { task, kind, lasts }) => {
    const working = tasks(world).filter(({ sessionID }) => busy(world).includes(sessionID));
    const sessionID = pick(working, task)?.sessionID;
    if (!sessionID) return;
    ask(world, sessionID, kind);
    return world.clock.advance(lasts);
  },
  reply: (world, { task }) => {
    const sessionID = pick(tasks(world), task)?.sessionID;
    const asked = sessionID && world.stage.store.get(sessionID)?.snapshot.context.userRequests[0];
    if (sessionID && asked) world.host.emit({ type: "replied", sessionID, requestID: asked.id });
  },
  askByApi: (world, { task, kind }) => askByApi(world, pick(preferred(tasks(world), fitsApi[kind]), task), kind),
  answerByApi: (world, { task, ...how }) => {
    const asking = tasks(world).filter(({ attention }) => attention?.requests !== undefined);
    const chosen = pick(asking, task);
    if (chosen) answerByApi(world, chosen, how);
  },
  callTools: (world, { task, times, same }) => {
    // Only an agent at work calls tools: not one whose run is in the queue.
    const working = busy(world);
    const calling = tasks(world).filter(({ sessionID }) => working.includes(sessionID));
    const sessionID = pick(calling.filter(isRunning), task)?.sessionID;
    if (sessionID) callTools(world, sessionID, times, same);
  },
  runTool: (world, { task, ms }) => {
    const working = busy(world);
    const sessionID = pick(
      tasks(world).filter((one) => isRunning(one) && working.includes(one.sessionID)),
      task,
    )?.sessionID;
    if (sessionID) runTool(world, sessionID, ms);
  },
  spend: (world, { task, tokens, cost }) => {
    const working = busy(world);
    const sessionID = pick(
      tasks(world).filter((one) => isRunning(one) && working.includes(one.sessionID)),
      task,
    )?.sessionID;
    if (sessionID) spend(world, sessionID, tokens, cost);
  },
  overspend: async (world, { task }) => {
    const working = busy(world);
    const spending = tasks(world).filter((one) => isRunning(one) && working.includes(one.sessionID));
    const chosen = pick(
      preferred(spending, ({ parentTaskId }) => parentTaskId !== undefined),
      task,
    );
    if (chosen) await overspend(world, chosen);
  },
  dawdle: async (world, { task, begins }) => {
    const working = busy(world);
    const chosen = pick(
      tasks(world).filter((one) => isRunning(one) && working.includes(one.sessionID)),
      task,
    );
    if (chosen) await dawdle(world, chosen, begins);
  },
  hint: (world, { session, says }) => {
    const sessionID = pick(sessions(world), session);
    if (sessionID) world.host.emit({ type: says, sessionID });
  },
  behave: (world, { session, habit }) => {
    const sessionID = pick(sessions(world), session);
    if (sessionID) world.host.habits(sessionID, habit);
  },
  behaveChildren: ({ host }, { habit }) => host.childHabits(habit),

  garble: ({ wire }, { faults }) => wire.expect(faults),
  strike: ({ calls }, { do: _, times, ...fault }) => {
    for (let time = 0; time < times; time += 1) calls.expect(fault);
  },

  time: ({ clock }, { ms }) => clock.advance(ms),
  crash: (world, { down }) => world.reboot(down),
  dieSoon: (world, { points }) => world.life().dieAfter(points),
  close: async (world, { aborts }) => {
    world.agents.part();
    for (const sessionID of aborts ? busy(world) : []) world.host.abortByPerson(sessionID);
    try {
      world.stage.engine.stop();
    } catch (error) {
      if (!world.life().isOver()) throw error;
    }
    await settled();
    await world.reboot(0);
  },
  quit: (world, { lingers }) => world.quit(lingers),
  goTo: () => undefined,
  freeze: (world) => world.freeze(),
  wake: (world) => world.wake(),
  pause: async (world, { ms }) => {
    world.life().pause();
    await world.clock.advance(ms);
    world.life().wake();
    world.slotWatch.wasPaused();
    world.limitWatch.wasPaused(ms);
  },
};
