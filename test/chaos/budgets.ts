import { taskMachine } from "../../src/machines/task/machine.ts";
import { hasEnded, type Task } from "../../src/task.ts";
import { wholeTasks } from "../services/store/whole-tasks.ts";
import type { Simulation } from "./simulation.ts";
import { TOOL_CALLS } from "./tool-call-counts.ts";

/** Has the model of a task's session call tools that many times, always the same one or others each time. */
export const callTools = (world: Simulation, sessionID: string, times: number, isSame: boolean): void => {
  const { host, toolCalls } = world;
  for (let time = 0; time < times; time += 1) {
    toolCalls.add(sessionID);
    const callID = `call_tool${toolCalls.total()}`;
    const call = { type: "toolCall", sessionID, callID, tool: "bash", input: isSame ? "same" : callID } as const;
    host.emit({ ...call, stage: "begun" });
    host.emit({ ...call, stage: "stored" });
  }
};

const usedBy = (world: Simulation, task: Task, all: Task[]): number =>
  all
    .filter(({ parentTaskId }) => parentTaskId === task.sessionID)
    .reduce(
      (sum, child) => sum + usedBy(world, child, all),
      world.stage.engine.get(task.sessionID)?.progress.toolCalls ?? 0,
    );

/** True for a run that is under way, and not being stopped. */
const isAtWork = ({ stage }: Simulation, task: Task): boolean => {
  const stored = stage.store.get(task.sessionID)?.snapshot;
  return !hasEnded(task) && !(stored && taskMachine.resolveState(stored).hasTag("stopping"));
};

/** The runs that are under way beyond their budget, and not being stopped. */
const overBudget = (world: Simulation): string[] => {
  const all = wholeTasks(world.stage.store);
  return all.flatMap((task) => {
    return usedBy(world, task, all) > TOOL_CALLS && isAtWork(world, task) ? task.sessionID : [];
  });
};

/** The runs that are under way though they make the same call again and again, and not being stopped. */
const loops = (world: Simulation): string[] =>
  wholeTasks(world.stage.store)
    .filter((task) => world.toolCalls.loops().has(`${task.sessionID}/${task.resumeCount}`) && isAtWork(world, task))
    .map(({ sessionID }) => sessionID);

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
  callTools(world, task.sessionID, Math.max(1, TOOL_CALLS + 1 - usedBy(world, topmost(world, task), all)), false);
  await world.clock.advance(STOPPED_WITHIN);
  if (world.life() !== life || life.isOver()) return;
  if (overBudget(world).includes(sessionID)) world.fault(`${sessionID} works on beyond its budget`);
};

/** A task that is beyond its budget or goes round in circles ends by itself, once nothing keeps the engine from it. */
export const checkBudgets = async (world: Simulation): Promise<void> => {
  const isOver = () => overBudget(world).length + loops(world).length === 0;
  for (let round = 0; round < 6 && !isOver(); round += 1) await world.clock.advance(5_000);
  for (const id of overBudget(world)) world.fault(`${id} works on beyond its budget`);
  for (const id of loops(world)) world.fault(`${id} works on though it goes round in circles`);
};
