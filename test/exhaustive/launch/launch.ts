import { AT } from "../charts.ts";
import type { Move, Space } from "../explore.ts";
import { createNumbering } from "../numbering.ts";
import { createLaunchCharts } from "./charts.ts";
import { decode, encode } from "./encoding.ts";
import { isOfCopy, type LaunchFamily } from "./family.ts";
import { createOperations } from "./operations.ts";
import { createLaunchProcesses, type LaunchTurn, STARTS } from "./process.ts";
import { createPromises } from "./promises.ts";
import {
  clone,
  emptyWorld,
  FIRST,
  launchOf,
  NO_OPERATION,
  type Operation,
  part,
  sessionIdOf,
  type World,
} from "./world.ts";

/*
 * How a launch is prepared, given up, left and taken over: the real chart of the launch, and around it, in short, what the engine
 * and the store do. `docs/proof.md` lists what is left out.
 */

export type LaunchSpace = Space<World> & {
  /** The transitions that were taken so far, by name. */
  taken: ReadonlySet<string>;
};

/** Creates the space of all worlds of a family. */
export const createLaunches = (family: LaunchFamily): LaunchSpace => {
  const charts = createLaunchCharts(family.machine);
  const operations = createNumbering<Operation>();
  const processes = createLaunchProcesses(family, charts, operations);
  const { createTurn, die, isLive, isLaunching, operationOf } = processes;
  const { outcomesOf, requested } = createOperations(family);
  const { faultsOf, isOver } = createPromises(family, processes);
  const launches = family.launches.length;

  const move = (before: World, name: string, work: (world: World) => void, isExpected = true): Move<World> => {
    const after = clone(before);
    work(after);
    return { name, after, isExpected };
  };

  /** A turn of a process, with the worlds in which it dies on the way, and those in which its task does not start. */
  const turn = (before: World, p: number, name: string, work: (turn: LaunchTurn) => void, isExpected = true) => {
    const moves: Move<World>[] = [];
    for (const start of STARTS) {
      const taken = createTurn(before, p, start);
      work(taken);
      const isOther = start !== "TASK_STARTED";
      moves.push({
        name: isOther ? `${name}, but ${start}` : name,
        after: taken.world,
        isExpected: isExpected && !isOther,
      });
      for (const after of taken.deaths())
        moves.push({ name: `${name}, and dies on the way`, after, isExpected: false });
      // Only what is done for a worktree can go wrong.
      if (!taken.hasStarted() || !family.refuses || !family.launches.some(({ needsWorktree }) => needsWorktree)) break;
    }
    return moves;
  };

  const waitingMoves = (before: World, p: number, who: string): Move<World>[] => {
    const process = part(before.processes, p);
    return process.charts.flatMap((chart, slot) => {
      const operation = operationOf(process, slot);
      if (!isLive(chart) || !operation) return [];
      const isLeftBehind = charts.at(chart).matches("leftBehind");
      return outcomesOf({ who, p, slot, operation, isLeftBehind, before }).flatMap(
        ({ name, work, isExpected, isInHost }) =>
          process.isStale && !isInHost ? [] : turn(before, p, name, work, isExpected),
      );
    });
  };

  const pauseMoves = (before: World, p: number, who: string): Move<World>[] =>
    part(before.processes, p).charts.flatMap((chart, slot) => {
      if (!isLive(chart) || charts.at(chart).context.nextDeadline === undefined) return [];
      const tick = (taken: LaunchTurn) => taken.tell(slot, { type: "TICK", at: AT });
      return turn(before, p, `${who} goes on after a pause`, tick);
    });

  /** What a process that is awake takes over, and hears. */
  const awakeMoves = (before: World, p: number, who: string): Move<World>[] => {
    const hears = (what: string, note: (world: World) => void, isExpected: boolean) => {
      const cancel = (taken: LaunchTurn) => {
        note(taken.world);
        taken.cancel();
      };
      return turn(before, p, `${who} hears that ${what}`, cancel, isExpected);
    };
    const isCalled = isLaunching(part(before.processes, p));
    const abort = (world: World) => {
      world.isAborted = true;
    };
    const know = (world: World) => {
      world.parent = "known";
    };
    const mayTake = before.rows.some(createTurn(before, p).isTakeable);
    return [
      ...(mayTake ? turn(before, p, `${who} takes over`, (taken) => taken.takeOver()) : []),
      ...(family.aborts && !before.isAborted && isCalled ? hears("the turn is aborted", abort, false) : []),
      ...(before.parent === "deleted" && isCalled ? hears("the parent is deleted", know, true) : []),
    ];
  };

  /** How a process ends, and how its plugin does. */
  const endMoves = (before: World, p: number, who: string): Move<World>[] => {
    const process = part(before.processes, p);
    const isAtRest = !process.charts.some(isLive);
    const owns = before.rows.some(({ owner }) => owner === FIRST + p);
    if (isAtRest && !owns && !before.requests.includes(p + 1)) return [];
    // Each process ends some day; what one has left to the next is found then.
    const isDue = isAtRest && owns;
    const isMaking = process.charts.some((_, slot) => operationOf(process, slot)?.type === "makeWorktree");
    const standStill = (world: World) => {
      part(world.processes, p).isStale = true;
    };
    const withWorktree = () => {
      const half = clone(before);
      for (const launch of half.launches) if (launch.worktree === "none") launch.worktree = "there";
      return half;
    };
    return [
      ...(family.dies || isDue ? [{ name: `${who} ends`, after: die(before, p), isExpected: isDue }] : []),
      ...(family.dies && isMaking
        ? [{ name: `${who} ends while it makes the worktree`, after: die(withWorktree(), p), isExpected: false }]
        : []),
      ...(family.closes && !process.isStale
        ? turn(before, p, `${who} is disposed of`, (taken) => taken.close(), false)
        : []),
      ...(family.standsStill && !process.isStale && owns
        ? [move(before, `${who} stands still for too long`, standStill, false)]
        : []),
    ];
  };

  const processMoves = (before: World, p: number): Move<World>[] => {
    const who = "AB"[p] ?? "";
    const goOn = (world: World) => {
      part(world.processes, p).isStale = false;
    };
    const ofLoop = part(before.processes, p).isStale
      ? [move(before, `${who} goes on`, goOn)]
      : [...pauseMoves(before, p, who), ...awakeMoves(before, p, who)];
    return [...waitingMoves(before, p, who), ...ofLoop, ...endMoves(before, p, who)];
  };

  /** A process hears of the session that it asked for, if it still waits. */
  const answered = (world: World, p: number, row: number) => {
    const process = part(world.processes, p);
    for (const slot of process.operations.keys()) {
      const operation = operationOf(process, slot);
      if (operation?.type !== "createSession" || operation.row !== row) continue;
      process.operations[slot] = operations.numberOf({ ...operation, stage: "created" });
    }
  };

  const deleteParent = (world: World) => {
    world.parent = "deleted";
    // OpenCode deletes what lies below it. A copy does not.
    for (const [row, session] of world.sessions.entries())
      if (!isOfCopy(family, row) && session.stage === "there") session.stage = "gone";
  };

  const hostMoves = (before: World): Move<World>[] => {
    const moves: Move<World>[] = [];
    for (const [row, session] of before.sessions.entries()) {
      const request = requested(before, row);
      if (request) {
        const work = (world: World) => request.work(world, (p) => answered(world, p, row));
        moves.push(move(before, request.name, work));
      }
      if (session.isDyingBy !== 0) {
        const go = ({ sessions }: World) => void Object.assign(part(sessions, row), { stage: "gone", isDyingBy: 0 });
        moves.push(move(before, `OpenCode deletes ${sessionIdOf(row)} late`, go));
      }
    }
    if (family.deletes && before.parent === "there" && before.launches.every(({ task }) => task === 0))
      moves.push(move(before, "the parent is deleted", deleteParent, false));
    for (const [slot, { isSwept, worktree, task }] of before.launches.entries()) {
      if (!isSwept || worktree !== "there" || task !== 0 || isLive(part(before.processes, 0).charts[slot])) continue;
      const sweep = (world: World) => {
        part(world.launches, slot).worktree = "gone";
      };
      moves.push(move(before, "its worktree is swept", sweep));
    }
    return moves;
  };

  /** Forgets what makes no difference any more, so that fewer worlds differ. */
  const settle = (world: World): World => {
    const [first] = world.processes;
    for (const [row, session] of world.sessions.entries()) {
      const isUsed = part(world.launches, launchOf(row)).task === row + 1;
      if (session.stage === "gone") Object.assign(session, { isMarked: false, isDyingBy: 0 });
      if (session.stage === "gone" || isUsed) Object.assign(session, { isCut: false, hasPreamble: false });
      if (launches === 1) session.isOf = 0;
    }
    for (const [slot, launch] of world.launches.entries()) {
      if (isLive(first?.charts[slot])) continue;
      launch.isOffered = false;
      if (launch.worktree !== "there" || launch.task !== 0) launch.isSwept = false;
    }
    if (first && !isLaunching(first)) {
      world.isAborted = false;
      if (world.parent === "deleted") world.parent = "known";
    }
    for (const { charts: own, operations: waiting } of world.processes)
      for (const slot of waiting.keys()) if (!isLive(own[slot])) waiting[slot] = NO_OPERATION;
    return world;
  };

  const first = (): World => {
    const begin = createTurn(emptyWorld(launches), 0);
    begin.launch();
    return begin.world;
  };

  const movesOf = (world: World): Move<World>[] =>
    world.wrong === "" ? [...processMoves(world, 0), ...processMoves(world, 1), ...hostMoves(world)] : [];

  return {
    taken: charts.taken,
    first: first(),
    moves: (world) => movesOf(world).map(({ name, after, isExpected }) => ({ name, after: settle(after), isExpected })),
    keyOf: encode,
    worldOf: (key) => decode(key, launches),
    faultsOf,
    isOver,
  };
};
