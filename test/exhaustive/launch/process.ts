import type { LaunchEffect, LaunchEvent } from "../../../src/machines/launch/events.ts";
import { isCopying, leftLaunch } from "../../../src/machines/launch/machine.ts";
import { AT, PARENT, type Step } from "../charts.ts";
import type { Numbering } from "../numbering.ts";
import type { LaunchCharts } from "./charts.ts";
import { isOfCopy, type LaunchFamily } from "./family.ts";
import {
  clone,
  emptyProcess,
  FIRST,
  messageOf,
  NO_CHART,
  NO_OPERATION,
  NO_ROW,
  OF_CLOSED,
  OF_DEAD,
  type Operation,
  type Process,
  part,
  type Row,
  rowOf,
  sessionOf,
  type World,
  type Wrong,
} from "./world.ts";

type StartTask = Extract<LaunchEffect, { type: "startTask" }>;
type AnswerCall = Extract<LaunchEffect, { type: "answerCall" }>;

/** How the start of a task goes: OpenCode may start no plugin in its worktree, and a service of ours may throw. */
export const STARTS = ["TASK_STARTED", "NOT_SERVED", "FAULT"] as const;

/**
 * Creates what a process does around the charts of its launches, in short: it stores what is under way before it asks OpenCode
 * for a session, and carries out what the charts want (`launch-effects.ts`, `pending-launches.ts`, `start-task.ts`); it takes over
 * what nothing can come of any more (`adoption.ts`, `ownership-tables.ts`).
 */
export const createLaunchProcesses = (family: LaunchFamily, charts: LaunchCharts, operations: Numbering<Operation>) => {
  const { mistake } = family;
  const launches = family.launches.length;

  const isMain = (slot: number): boolean => slot < launches;
  const isLive = (chart: number | undefined): chart is number => chart !== undefined && chart !== NO_CHART;
  const operationOf = ({ operations: own }: Process, slot: number): Operation | undefined => {
    const number = own[slot] ?? NO_OPERATION;
    return number === NO_OPERATION ? undefined : operations.at(number);
  };
  /** True while a call waits for a launch in this process. */
  const isLaunching = ({ charts: own }: Process): boolean => own.some((chart, slot) => isMain(slot) && isLive(chart));
  /** True while one of its charts has to do with what is stored of a launch. */
  const worksOn = ({ charts: own }: Process, row: number): boolean =>
    own.some((chart) => {
      const pending = isLive(chart) ? charts.at(chart).context.pending : undefined;
      return pending !== undefined && rowOf(pending) === row;
    });

  /** Nothing of a process goes on. */
  const clear = (world: World, p: number, owner: number) => {
    for (const row of world.rows) if (row.owner === FIRST + p) row.owner = owner;
    for (const session of world.sessions) session.isOf = 0;
    world.processes[p] = emptyProcess(3 * launches);
    if (p !== 0) return;
    for (const launch of world.launches) Object.assign(launch, { call: "answered", isSwept: true });
  };

  /** The process dies with its OpenCode, and with what that was asked. */
  const die = (before: World, p: number, known: Partial<World> = {}): World => {
    const world = clone({ ...before, ...known });
    world.requests = world.requests.map((by) => (by === p + 1 ? 0 : by));
    for (const session of world.sessions) if (session.isDyingBy === p + 1) session.isDyingBy = 0;
    clear(world, p, OF_DEAD);
    return world;
  };

  /** One turn of a process's loop, in which nothing else happens in it. */
  const createTurn = (before: World, p: number, start: (typeof STARTS)[number] = "TASK_STARTED") => {
    const world = clone(before);
    const me = FIRST + p;
    const process = part(world.processes, p);
    /** What was stored, each time that something was. */
    const stores: Pick<World, "rows" | "launches">[] = [];
    const wanted: { slot: number; effect: LaunchEffect }[] = [];
    let hasStarted = false;

    const stored = () => {
      const { rows, launches } = clone(world);
      stores.push({ rows, launches });
    };
    const isWrong = (is: boolean, wrong: Wrong) => {
      if (is && world.wrong === "") world.wrong = wrong;
    };

    const beginRow = (row: number) => {
      world.rows[row] = { owner: me, isLeft: false };
      stored();
    };
    const endRow = (row: number) => {
      if (part(world.rows, row).owner !== me) return;
      world.rows[row] = { owner: NO_ROW, isLeft: false };
      stored();
    };

    const post = (slot: number, operation: Operation) => {
      process.operations[slot] = operations.numberOf(operation);
    };
    const wait = (slot: number, type: Operation["type"], row = 0) =>
      post(slot, { type, stage: "asked", row, isFinal: false, sessions: null, done: 0 });

    const take = (slot: number, { after, effects }: Step<LaunchEffect>) => {
      process.charts[slot] = charts.at(after).status === "active" ? after : NO_CHART;
      for (const effect of effects) wanted.push({ slot, effect });
    };
    const carryOut = () => {
      for (let next = wanted.shift(); next; next = wanted.shift()) perform(next.slot, next.effect);
    };
    const tell = (slot: number, event: LaunchEvent) => {
      const chart = process.charts[slot];
      if (isLive(chart)) take(slot, charts.step(chart, event));
      carryOut();
    };

    /** Starts an actor for what a launch has left, unless there is one. */
    const openLeft = (left: Parameters<typeof leftLaunch>[0]) => {
      const slot = launches + rowOf(left.pending);
      if (isLive(process.charts[slot])) return;
      take(slot, charts.begin(leftLaunch({ ...left, dueAt: AT })));
      carryOut();
    };

    const startTask = (slot: number, effect: StartTask) => {
      const [launch, row] = [part(world.launches, slot), rowOf(effect)];
      const { isFork = false, needsWorktree = false } = part(family.launches, slot);
      const { stage, isMarked, isCut, hasPreamble } = part(world.sessions, row);
      hasStarted = true;
      if (start !== "TASK_STARTED") return tell(slot, { type: start, at: AT, reason: "" });
      const isReady = !isFork || (hasPreamble && (!isOfCopy(family, row) || (isMarked && isCut)));
      isWrong(launch.task !== 0, "two tasks begin for one launch");
      isWrong(launch.call !== "open", "a task begins whose caller was told that there is none");
      // With its parent, a session is deleted, and its task is cleared for that.
      isWrong(stage !== "there" && world.parent === "there", "a task begins in a session that is not there");
      isWrong(stage === "there" && !isReady, "a task begins in a session that is not prepared");
      const hasWorktree = launch.worktree === "there" && effect.worktree !== undefined;
      isWrong(needsWorktree && !hasWorktree, "a task begins without its worktree");
      const isOffered = effect.offer !== undefined;
      isWrong(isOffered !== launch.isOffered, "a task is offered to the fleet against its word");
      if (mistake === "what is stored of a launch ends before its task is stored") endRow(row);
      launch.task = row + 1;
      if (part(world.rows, row).owner === me) world.rows[row] = { owner: NO_ROW, isLeft: false };
      stored();
      tell(slot, { type: "TASK_STARTED", at: AT });
    };

    const answerCall = (slot: number, { answer }: AnswerCall) => {
      const launch = part(world.launches, slot);
      const hasTask = launch.task !== 0;
      isWrong(launch.call !== "open", "the caller is answered twice");
      isWrong(answer.is === "started" && !hasTask, "the caller is told of a task that there is not");
      isWrong(answer.is === "refused" && hasTask, "the caller is told that nothing was launched, though a task was");
      launch.call = "answered";
    };

    /** Goes on to the next session that is to be deleted: not to one whose task is stored. */
    const goOnRemoving = (slot: number, operation: Operation) => {
      const { row, sessions } = operation;
      let { done } = operation;
      const hasTask = (session: number | undefined) => world.launches.some(({ task }) => task - 1 === session);
      while (sessions && done < sessions.length && hasTask(sessions[done])) done += 1;
      for (const session of sessions ?? []) if (isOfCopy(family, session)) part(world.sessions, session).isOf = row + 1;
      if (sessions && done < sessions.length) return post(slot, { ...operation, stage: "asked", done });
      process.operations[slot] = NO_OPERATION;
      endRow(row);
      tell(slot, { type: "SESSIONS_REMOVED", at: AT });
    };

    const remove = (slot: number, effect: Extract<LaunchEffect, { type: "removeSessions" }>) => {
      const { isFinal } = effect;
      const row = rowOf(effect.pending);
      const sessions = effect.sessions?.map(sessionOf) ?? null;
      if (mistake === "what is stored of a launch ends before its session is deleted") endRow(row);
      const operation = { type: effect.type, stage: "listing", row, isFinal, sessions, done: 0 };
      if (sessions) goOnRemoving(slot, operation);
      else post(slot, operation);
    };

    const perform = (slot: number, effect: LaunchEffect) => {
      switch (effect.type) {
        case "createSession": {
          const row = rowOf(effect.pending);
          if (mistake !== "a launch is stored after its session was created") beginRow(row);
          world.requests[row] = p + 1;
          return wait(slot, effect.type, row);
        }
        case "findSession":
        case "cutCopy":
          return wait(slot, effect.type, rowOf(effect.pending));
        case "storePreamble":
          return wait(slot, effect.type, sessionOf(effect.sessionID));
        case "removeSessions":
          return remove(slot, effect);
        case "startTask":
          return startTask(slot, effect);
        case "endPending":
          return endRow(rowOf(effect));
        case "leaveCopy":
          return mistake === "a copy that could not be deleted is left to nobody" ? undefined : openLeft(effect.left);
        case "answerCall":
          return answerCall(slot, effect);
        case "leaveToNext":
          part(world.rows, rowOf(effect.pending)).isLeft = true;
          return;
        default:
          return wait(slot, effect.type);
      }
    };

    /**
     * True for what is stored of a launch of which nothing can come any more: its OpenCode has ended, or it is a quarter of an hour
     * old. By then OpenCode has done what it was asked, and no caller waits.
     */
    const isTakeable = ({ owner }: Row): boolean => {
      const isOld = world.requests.every((by) => by === 0);
      if (owner === OF_DEAD) return true;
      if (owner === OF_CLOSED)
        return isOld || mistake === "a launch is taken over while its OpenCode may still create the session";
      const other = owner === me ? undefined : world.processes[owner - FIRST];
      if (!other?.isStale) return false;
      return (
        (isOld && !isLaunching(other)) || mistake === "a launch is taken over from a process that only stands still"
      );
    };

    const takeOver = () => {
      const taken = world.rows.flatMap((row, index) => (isTakeable(row) ? index : []));
      for (const row of taken) world.rows[row] = { owner: me, isLeft: false };
      stored();
      for (const row of taken) {
        const pending = { messageID: messageOf(row), parentSessionID: PARENT, at: AT, fork: isOfCopy(family, row) };
        if (mistake === "what a dead process left is not deleted") endRow(row);
        else openLeft({ pending, isFinal: true, tries: 0, dueAt: AT });
      }
    };

    return {
      ...{ world, process, tell, post, beginRow, goOnRemoving, isTakeable, takeOver },
      hasStarted: () => hasStarted,
      /** What a chart waits for is answered. */
      answer: (slot: number, event: LaunchEvent) => {
        process.operations[slot] = NO_OPERATION;
        tell(slot, event);
      },
      /** True while a copy may exist for another launch here that has no mark yet. */
      isCopyingFor: (slot: number): boolean =>
        process.charts.some((chart, other) => other !== slot && isLive(chart) && isCopying(charts.at(chart))),
      cancel: () => {
        for (const slot of process.charts.keys()) if (isMain(slot)) tell(slot, { type: "CANCEL", at: AT });
      },
      launch: () => {
        for (const [slot, kind] of family.launches.entries())
          take(slot, charts.begin({ id: messageOf(2 * slot), parentSessionID: PARENT, ...kind }));
        carryOut();
      },
      /** The plugin is disposed of. Its OpenCode lives on, and does what it was asked. */
      close: () => {
        for (const slot of process.charts.keys()) tell(slot, { type: "CLOSE", at: AT });
        for (const slot of process.operations.keys()) {
          const operation = operationOf(process, slot);
          const isDeleting = operation?.type === "removeSessions" && operation.stage === "asked";
          const session = isDeleting ? world.sessions[operation.sessions?.[operation.done] ?? -1] : undefined;
          if (session) session.isDyingBy = p + 1;
        }
        clear(world, p, OF_CLOSED);
      },
      /** The worlds in which it dies on the way, right after something was stored. */
      deaths: (): World[] => (family.dies ? stores.slice(0, -1).map((known) => die(before, p, known)) : []),
    };
  };

  return { createTurn, die, isMain, isLive, isLaunching, operationOf, worksOn };
};

export type LaunchProcesses = ReturnType<typeof createLaunchProcesses>;
export type LaunchTurn = ReturnType<LaunchProcesses["createTurn"]>;
