import { taskMachine } from "../../src/machines/task/machine.ts";
import { type BudgetedUsage, hasEnded, noProgress, type Task } from "../../src/task.ts";
import { wholeTasks } from "../services/store/whole-tasks.ts";
import { isBelow } from "./limit-watch.ts";
import type { Simulation } from "./simulation.ts";
import { isBeyond, since, sum } from "./usage-counts.ts";

/** The model of a session writes something, on its way to an answer. */
const say = ({ host }: Simulation, sessionID: string) => {
  const step = host.at(sessionID).messages.at(-1);
  if (step?.role === "assistant" && step.completedAt === undefined) {
    step.text = `so far ${host.at(sessionID).messages.length} of ${sessionID}`;
  }
};

/** Has the model of a task's session call tools that many times, always the same one or others each time. */
export const callTools = (world: Simulation, sessionID: string, times: number, isSame: boolean): void => {
  const { host, usage } = world;
  say(world, sessionID);
  for (let time = 0; time < times; time += 1) {
    usage.add(sessionID, { toolCalls: 1 });
    const callID = `call_tool${usage.calls()}`;
    const call = { type: "toolCall", sessionID, callID, tool: "bash", input: isSame ? "same" : callID } as const;
    host.emit({ ...call, stage: "begun" });
    host.emit({ ...call, stage: "stored" });
  }
};

/** Has the model of a task's session call a tool that runs for so many milliseconds, unless its turn ends before. */
export const runTool = (world: Simulation, sessionID: string, ms: number): void => {
  const { host, clock, usage } = world;
  const life = world.life();
  usage.add(sessionID, { toolCalls: 1 });
  const callID = `call_tool${usage.calls()}`;
  const call = { type: "toolCall", sessionID, callID, tool: "bash", input: callID } as const;
  host.emit({ ...call, stage: "begun" });
  const runs = () => world.stage.store.get(sessionID)?.task.resumeCount;
  const run = runs();
  clock.after(ms, () => {
    // A tool of an earlier run ended with its turn.
    if (runs() !== run) return;
    const isThere = world.life() === life && host.sessionIDs().includes(sessionID) && host.at(sessionID).busy;
    if (isThere) host.emit({ ...call, stage: "stored" });
  });
};

/** Has the model of a task's session ask a person something. */
export const ask = ({ host, clock, limits }: Simulation, sessionID: string, kind: "permission" | "question"): void => {
  const questions = [{ question: "may it?", options: ["yes", "no"], multiple: false, custom: false }];
  const request = {
    ...{ id: `per_${clock.now() % 10_000_000}_${sessionID}`, kind, what: "may it?", since: clock.now() },
    ...(kind === "question" ? { questions } : {}),
  };
  host.emit({ type: "asked", sessionID, request });
  // `opencode run` itself rejects the permissions of child sessions.
  if (limits.isHeadless && kind === "permission") host.emit({ type: "replied", sessionID, requestID: request.id });
};

/** Has the model of a task's session finish a step that used so much. Cost in US dollars. */
export const spend = (world: Simulation, sessionID: string, tokens: number, cost: number): void => {
  const { host, usage, clock } = world;
  say(world, sessionID);
  usage.add(sessionID, { tokens, cost });
  const partID = `prt_step${clock.now() % 10_000_000}_${host.at(sessionID).messages.length}_${usage.usedFor(sessionID).tokens}`;
  host.emit({ type: "step", sessionID, partID, tokens, cost });
};

/** What a task and all tasks below it have used, as far as the engine has heard. */
const usedBy = (world: Simulation, task: Task, all: Task[]): BudgetedUsage =>
  all
    .filter(({ parentTaskId }) => parentTaskId === task.sessionID)
    .reduce<BudgetedUsage>(
      (used, child) => sum(used, usedBy(world, child, all)),
      world.stage.engine.get(task.sessionID)?.progress ?? noProgress(""),
    );

/** The same since its budget began. */
const usedOfBudget = (world: Simulation, task: Task, all: Task[]): BudgetedUsage =>
  since(usedBy(world, task, all), world.stage.store.get(task.sessionID)?.snapshot.context.run.budgetFrom);

/** True for a run that is under way, and not being stopped. */
const isAtWork = ({ stage }: Simulation, task: Task): boolean => {
  const stored = stage.store.get(task.sessionID)?.snapshot;
  return !hasEnded(task) && !(stored && taskMachine.resolveState(stored).hasTag("stopping"));
};

/** The runs that are under way beyond their budget, and not being stopped. One in the queue has used nothing in this run. */
const overBudget = (world: Simulation): string[] => {
  const all = wholeTasks(world.stage.store);
  return all.flatMap((task) => {
    const isQueued = task.state?.endsWith("queued") === true;
    return !isQueued && isBeyond(usedOfBudget(world, task, all), world.limits) && isAtWork(world, task)
      ? task.sessionID
      : [];
  });
};

/** The runs that are under way though they make the same call again and again, and not being stopped. */
const loops = (world: Simulation): string[] =>
  wholeTasks(world.stage.store)
    .filter((task) => world.usage.loops().has(`${task.sessionID}/${task.resumeCount}`) && isAtWork(world, task))
    .map(({ sessionID }) => sessionID);

/** Milliseconds within which a run that has taken too long begins to stop. */
const NOTICED_WITHIN = 10_000;

/** The runs that are under way though they have taken too long, no tool runs, and no person is waited for. */
const overtime = (world: Simulation): string[] => {
  const { limits, clock, slotWatch, usage } = world;
  const all = wholeTasks(world.stage.store);
  return all.flatMap((task) => {
    const begun = slotWatch.begunAt(task.sessionID);
    const isLate =
      begun !== undefined && clock.now() - begun > (limits.runTime ?? Number.POSITIVE_INFINITY) + NOTICED_WITHIN;
    const isSpared = all.some(
      (other) =>
        isBelow(other, task, all) &&
        !hasEnded(other) &&
        (usage.isToolRunning(other.sessionID) ||
          other.attention?.kind === "permission" ||
          other.attention?.kind === "question"),
    );
    const isAtGate = task.waiting?.for === "gate";
    return isLate && !isSpared && !isAtGate && isAtWork(world, task) ? task.sessionID : [];
  });
};

/** Milliseconds within which a run beyond its budget begins to stop, though calls to the host are late. */
const STOPPED_WITHIN = 15_000;

/** The topmost task above a task that is under way, or the task itself. */
const topmost = (world: Simulation, task: Task): Task => {
  const parent = task.parentTaskId === undefined ? undefined : world.stage.store.get(task.parentTaskId)?.task;
  return parent && !hasEnded(parent) ? topmost(world, parent) : task;
};

/**
 * Has the model of a task call tools until those of the topmost task above it, and of all below that one, are one too many.
 * Then that one ends, unless something else happens to it: the end of its process, or of another run.
 */
export const overspend = async (world: Simulation, task: Task): Promise<void> => {
  const life = world.life();
  const all = wholeTasks(world.stage.store);
  const { sessionID } = topmost(world, task);
  const used = usedOfBudget(world, topmost(world, task), all).toolCalls;
  // Where tool calls are not limited to few, its tokens and its cost are.
  if (world.limits.toolCalls > 20) spend(world, task.sessionID, 1_001, 0.51);
  else callTools(world, task.sessionID, Math.max(1, world.limits.toolCalls + 1 - used), false);
  await world.clock.advance(STOPPED_WITHIN);
  if (world.life() !== life || life.isOver()) return;
  if (overBudget(world).includes(sessionID)) world.fault(`${sessionID} works on beyond its budget`);
};

/** Has the model of a task make one call as often as it may not. Then that one ends, unless something else happens to it. */
export const circle = async (world: Simulation, { sessionID }: Task): Promise<void> => {
  const life = world.life();
  const { repeat } = world.limits;
  // Where calls are not limited to few, none is one too many.
  if (repeat > 20) return;
  callTools(world, sessionID, repeat, true);
  await world.clock.advance(STOPPED_WITHIN);
  if (world.life() !== life || life.isOver()) return;
  if (loops(world).includes(sessionID)) world.fault(`${sessionID} works on though it goes round in circles`);
};

/** Milliseconds for which the last words of a run that has taken too long are on their way. */
const WORDS_TAKE = 3_000;

/**
 * Has time pass until the run of a task has taken too long and its last words are read. Then something begins that keeps it
 * from being ended, or nothing does.
 */
export const dawdle = async (world: Simulation, task: Task, begins: "tool" | "question" | "nothing"): Promise<void> => {
  const { limits, slotWatch, clock, calls, host } = world;
  const { sessionID } = task;
  const begun = slotWatch.begunAt(sessionID);
  if (limits.runTime === undefined || begun === undefined) return;
  const life = world.life();
  await clock.advance(Math.max(0, begun + limits.runTime - clock.now()));
  calls.expect({ call: "messages", is: "lateBack", ms: WORDS_TAKE });
  const reads = () => host.calls.filter((call) => call === "messages").length;
  const before = reads();
  for (let waited = 0; waited < NOTICED_WITHIN && reads() === before; waited += 250) await clock.advance(250);
  const isThere = world.life() === life && !life.isOver() && host.sessionIDs().includes(sessionID);
  if (!isThere || !host.at(sessionID).busy) return;
  if (begins === "tool") runTool(world, sessionID, 2 * WORDS_TAKE);
  if (begins === "question") ask(world, sessionID, "question");
  await clock.advance(WORDS_TAKE);
};

/** A task that is beyond a limit ends by itself, once nothing keeps the engine from it. */
export const checkBudgets = async (world: Simulation): Promise<void> => {
  const isOver = () => overBudget(world).length + loops(world).length + overtime(world).length === 0;
  for (let round = 0; round < 6 && !isOver(); round += 1) await world.clock.advance(5_000);
  for (const id of overBudget(world)) world.fault(`${id} works on beyond its budget`);
  for (const id of loops(world)) world.fault(`${id} works on though it goes round in circles`);
  for (const id of overtime(world)) world.fault(`${id} works on beyond its time`);
};
