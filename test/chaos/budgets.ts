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

/** The runs that are under way beyond their budget, and not being stopped. */
const overBudget = (world: Simulation): string[] => {
  const all = wholeTasks(world.stage.store);
  return all.flatMap((task) => {
    if (hasEnded(task) || usedBy(world, task, all) <= TOOL_CALLS) return [];
    const stored = world.stage.store.get(task.sessionID)?.snapshot;
    return stored && taskMachine.resolveState(stored).hasTag("stopping") ? [] : task.sessionID;
  });
};

/** A task that is beyond its budget ends by itself, once nothing keeps the engine from it. */
export const checkBudgets = async (world: Simulation): Promise<void> => {
  for (let round = 0; round < 6 && overBudget(world).length > 0; round += 1) await world.clock.advance(5_000);
  for (const id of overBudget(world)) world.fault(`${id} works on beyond its budget`);
};
