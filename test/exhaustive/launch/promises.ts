import { isOfCopy, type LaunchFamily } from "./family.ts";
import type { LaunchProcesses } from "./process.ts";
import { FIRST, launchOf, NO_OPERATION, NO_ROW, part, type World } from "./world.ts";

/** Creates what must hold in every world, and what has come to its end. */
export const createPromises = (
  family: LaunchFamily,
  { isLive, worksOn }: Pick<LaunchProcesses, "isLive" | "worksOn">,
) => {
  /** Nobody can say which launch a copy without a mark belongs to: each finds all of them. */
  const isBareCopy = ({ sessions }: World, row: number): boolean =>
    isOfCopy(family, row) && !part(sessions, row).isMarked;

  /** True while what is stored says that there may be a session, or a process that lives knows. */
  const isRemembered = (world: World, row: number): boolean =>
    part(world.rows, row).owner !== NO_ROW || world.processes.some((process) => worksOn(process, row));

  const faultsOfSession = (world: World, row: number): string[] => {
    const { stage, isDyingBy } = part(world.sessions, row);
    const isParentThere = world.parent === "there";
    const isThere = stage === "there" || part(world.requests, row) !== 0;
    if (part(world.launches, launchOf(row)).task === row + 1) {
      // With its parent, it is deleted, and its task is cleared for that.
      const isDeleted = isParentThere && (stage === "gone" || isDyingBy !== 0);
      return isDeleted ? ["the session of a task is deleted"] : [];
    }
    if (!isThere) return [];
    if (!isBareCopy(world, row)) return isRemembered(world, row) ? [] : ["nobody remembers a session"];
    const copies = [...world.rows.keys()].filter((other) => isOfCopy(family, other));
    // Without the conversation, nothing is proven of a copy.
    const isLeft = isParentThere && !copies.some((other) => isRemembered(world, other));
    return isLeft ? ["nobody remembers a copy"] : [];
  };

  const faultsOf = (world: World): string[] => {
    if (world.wrong !== "") return [world.wrong];
    const ofSessions = [...world.sessions.keys()].flatMap((row) => faultsOfSession(world, row));
    const ofRows = world.rows.flatMap(({ owner, isLeft }, row) => {
      const process = world.processes[owner - FIRST];
      return process && !isLeft && !worksOn(process, row) ? ["nobody works on what is stored of a launch"] : [];
    });
    const ofWorktrees = world.launches.flatMap(({ worktree, isSwept, task }, slot) => {
      const isUsed = task !== 0 || isLive(part(world.processes, 0).charts[slot]);
      return worktree === "there" && !isUsed && !isSwept ? ["a worktree is left"] : [];
    });
    return [...ofSessions, ...ofRows, ...ofWorktrees];
  };

  const isOver = ({ processes, rows, launches, requests, sessions }: World): boolean =>
    processes.every(
      ({ charts, operations }) => !charts.some(isLive) && operations.every((one) => one === NO_OPERATION),
    ) &&
    rows.every(({ owner }) => owner === NO_ROW) &&
    requests.every((by) => by === 0) &&
    sessions.every(({ isDyingBy }) => isDyingBy === 0) &&
    launches.every(({ call, worktree, task }) => call !== "open" && (worktree !== "there" || task !== 0));

  return { faultsOf, isOver };
};
