import type { PausedBy } from "../../src/machines/task/events.ts";
import { isPaused } from "../../src/machines/task/machine.ts";
import type { Task } from "../../src/task.ts";
import { isRunning, pick, preferred, tasks } from "./choosing.ts";
import type { Simulation, StepActions } from "./simulation.ts";

/** True for a task that is paused, or is being paused. */
export const isPausedIn = ({ stage }: Simulation, taskId: string): boolean =>
  isPaused(stage.store.get(taskId)?.snapshot);

const asked = new WeakMap<Simulation, number>();

/** An agent asks the engine of its process; a person writes the request down for the process that supervises the task. */
const ask = (world: Simulation, task: Task | undefined, kind: "pause" | "continue", by: PausedBy): void => {
  if (!task) return;
  const { sessionID: taskId } = task;
  const { stage, tracks, sequence, storage, machineClock } = world;
  sequence.note("engine", `the ${by} asks to ${kind} ${taskId}`);
  if (kind === "pause") tracks.mayPause(taskId);
  if (by === "agent") {
    const done = kind === "pause" ? stage.engine.pause([taskId], by) : stage.engine.continue([taskId]);
    // As with a tool call: whatever it throws is the answer, and the agent goes on.
    done.catch(() => undefined);
    return;
  }
  if (storage.trouble?.isUnderWay()) return;
  const count = (asked.get(world) ?? 0) + 1;
  asked.set(world, count);
  stage.store.submitCommand({ id: `${kind}_${world.owner()}_${count}`, taskId, command: { kind } }, machineClock.now());
};

/** What pauses tasks, and has them go on. */
export const pauseSteps = {
  pauseTask: (world, { task, by }) => {
    const running = preferred(tasks(world), (one) => isRunning(one) && !isPausedIn(world, one.sessionID));
    ask(world, pick(running, task), "pause", by);
  },
  continueTask: (world, { task, by }) => {
    const paused = preferred(tasks(world), ({ sessionID }) => isPausedIn(world, sessionID));
    ask(world, pick(paused, task), "continue", by);
  },
} satisfies Partial<StepActions>;
