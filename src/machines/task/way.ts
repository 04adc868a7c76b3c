import { statePaths } from "../chart.ts";
import { movesOf } from "../moves.ts";
import { NO_WAY, type Way, wayOf } from "../way.ts";
import type { TaskEvent, TaskInput } from "./events.ts";
import { type StoredSnapshot, taskMachine } from "./machine.ts";

/** Returns the way of the newest run of a task. It is empty where the journal does not lead to the snapshot. */
export const wayOfTask = (origin: TaskInput, events: readonly TaskEvent[], { value }: StoredSnapshot): Way => {
  const moves = movesOf(taskMachine, origin, events);
  const reached = moves.reduce<string[]>(
    (states, { left, entered }) => [...states.filter((state) => !left.includes(state)), ...entered],
    [],
  );
  return reached.toSorted().join() === statePaths(value).toSorted().join() ? wayOf(moves) : NO_WAY;
};
