import { hasEnded, type Task } from "../../src/task.ts";
import { wholeTasks } from "../services/store/whole-tasks.ts";
import { USER_SESSIONS } from "./shared-parts.ts";
import type { Simulation } from "./simulation.ts";

/*
 * The numbers of a step choose among what there is at that moment.
 */

/** Returns the one with that number, modulo their count; from the end where it is below 0. */
export const pick = <T>(from: T[], which: number): T | undefined => from.at(which % Math.max(1, from.length));

/** Returns those that a step is meant for, or all if there are none: calls that will be refused should be tried too. */
export const preferred = <T>(all: T[], isMeant: (one: T) => boolean): T[] => {
  const meant = all.filter(isMeant);
  return meant.length > 0 ? meant : all;
};

/** True for a task whose run is under way. */
export const isRunning = (task: Task): boolean => !hasEnded(task);

/** True for a task that has failed or was cancelled. */
export const wasStopped = ({ status }: Task): boolean => status === "error" || status === "cancelled";

/** True for an ended task that nobody has asked to go on yet. */
export const mayGoOn = (task: Task): boolean => hasEnded(task) && task.nextRun === undefined;

/** True for a session that is to be notified of an end. */
export const isOwed =
  (world: Simulation) =>
  (sessionID: string): boolean =>
    tasks(world).some(
      (task) =>
        task.parentSessionID === sessionID &&
        world.stage.store.get(task.sessionID)?.snapshot.value.notice !== "none" &&
        hasEnded(task),
    );

/** The ids of all sessions. */
export const sessions = ({ host }: Simulation): string[] => host.sessionIDs();
/** True for a session that exists. */
export const isThere = (world: Simulation, id: string): boolean => sessions(world).includes(id);
/** The sessions of people. */
export const people = (world: Simulation): string[] => USER_SESSIONS.filter((id) => isThere(world, id));
/** The sessions that work in this process. */
export const busy = (world: Simulation): string[] => sessions(world).filter((id) => world.host.at(id).busy);
/** True for a session whose conversation is being summed up. */
export const isSummarizing = ({ host }: Simulation, id: string): boolean =>
  host.at(id).messages.findLast(({ role, completedAt }) => role === "assistant" && completedAt === undefined)
    ?.isSummary === true;

/** The sessions whose agents act: in a turn that writes a summary, no tool is called. */
export const acting = (world: Simulation): string[] => busy(world).filter((id) => !isSummarizing(world, id));
/** The tasks whose agents act, in this process. */
export const atWork = (world: Simulation): Task[] => {
  const ids = acting(world);
  return tasks(world).filter((task) => isRunning(task) && ids.includes(task.sessionID));
};
/** Returns the tasks whose sessions exist. */
export const tasks = (world: Simulation): Task[] =>
  wholeTasks(world.stage.store).filter(({ parentSessionID }) => isThere(world, parentSessionID));
