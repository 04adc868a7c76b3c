import { statePath } from "../../src/machines/chart.ts";
import type { NoticePrompt } from "../../src/machines/outbox/events.ts";
import type { Effect, SupervisorEvent } from "../../src/machines/supervisor/events.ts";
import { taskInput } from "../fakes/task-input.ts";
import { AT, createCharts, NONE, PARENT } from "./charts.ts";
import type { Move, Space } from "./explore.ts";
import type { Family } from "./family.ts";
import { createHost } from "./host.ts";
import { createNumbering } from "./numbering.ts";
import { createParent } from "./parent.ts";
import { callId, createProcesses, ofOutbox, type Turn } from "./process.ts";
import { createTurns, nameOf, type Parts } from "./turns.ts";
import { createWaitingCalls } from "./waiting-calls.ts";
import {
  ANSWERED,
  clone,
  compareProcesses,
  decode,
  emptyProcess,
  encode,
  FIRST,
  FREE,
  type Message,
  NOBODY,
  type World,
} from "./world.ts";

/*
 * How the ends of tasks are delivered to their parent, with all that can come between: the real charts of tasks, outbox and
 * supervisor, and around them, in short, what the services and the host do. `docs/proof.md` lists what is left out.
 */

const TICK = { type: "TICK", at: AT } as const;

const OUTBOX_TICK = ofOutbox(TICK);

/** A space of worlds, and the transitions of the charts of outboxes and tasks that were taken so far, by name. */
export interface Delivery extends Space<World> {
  taken: { task: ReadonlySet<string>; outbox: ReadonlySet<string> };
}

/** Creates the space of all worlds of a family. */
export const createDelivery = (family: Family): Delivery => {
  const { calls: callsOf = [], mistake } = family;
  const taskIds = family.tasks.map((_, index) => `ses_${index}`);
  const charts = createCharts(taskIds, family.machines);
  const numbers = { messages: createNumbering<Message>(), prompts: createNumbering<NoticePrompt>() };
  const { messages, prompts } = numbers;
  const processes = createProcesses(family, taskIds, charts, numbers);
  const { ofTask, runsOf } = processes;
  const parts: Parts = { family, taskIds, charts, numbers, processes };
  const turns = createTurns(parts);
  const { turn, atHost, remove } = turns;
  const { requests, checks } = createHost(parts, turns);
  const { callMoves } = createWaitingCalls(parts, turns);
  const { parentMoves } = createParent(parts, turns);
  const messageID = (prompt: number): string => prompts.at(prompt).messageID;

  /** What has reached a process is taken by it, or is lost. */
  const arrivals = (before: World, p: number, number: number): Move<World>[] => {
    const message = messages.at(number);
    if (message.kind === "stored") {
      const { call } = message;
      return turn(before, p, `learns that the output of call ${call} is stored`, (now) => {
        remove(now, number);
        for (const task of before.calls[call]?.delivers ?? [])
          now.send(task, { type: "WAIT_DELIVERED", at: AT, call: callId(call) });
      });
    }
    if (message.kind !== "event") return [];
    const { event } = message;
    const name = "event" in event ? event.event.type : event.type;
    const taken = turn(before, p, `takes ${name}`, (now) => {
      remove(now, number);
      now.dispatch(event);
    });
    const isLost = message.mayBeLost && family.isUnreliable;
    const lost = (now: Turn) => remove(now, number);
    return isLost ? [...taken, atHost(before, p, `${name} does not reach ${nameOf(p)}`, lost, false)] : taken;
  };

  const ticks = (before: World, p: number): Move<World>[] => {
    const { outbox, tasks } = before.processes[p]?.charts ?? { outbox: NONE, tasks: [] };
    const known = outbox === NONE ? undefined : charts.outboxes.at(outbox).context;
    const isDue = known?.nextDeadline !== undefined || known?.parentReadyAt !== undefined;
    const due = tasks.flatMap((task, index) =>
      task !== NONE && charts.tasks.at(task).context.nextDeadline !== undefined ? index : [],
    );
    return [
      ...(isDue ? turn(before, p, "has the outbox go on after a while", (now) => now.dispatch(OUTBOX_TICK)) : []),
      ...due.flatMap((task) =>
        turn(before, p, `has ${taskIds[task]} go on after a while`, (now) => now.send(task, TICK)),
      ),
    ];
  };

  /** A run ends by itself, or is ended by its agent, whom the host is then asked about. */
  const endings = (before: World, p: number): Move<World>[] =>
    taskIds.flatMap((sessionID, task): Move<World>[] => {
      const idle: SupervisorEvent = { type: "HOST", at: AT, event: { type: "idle", sessionID } };
      if (family.followsRuns) {
        if (before.agents[task] !== p + 1) return [];
        return turn(before, p, `sees that ${sessionID} has answered`, (now) => {
          now.world.agents[task] = ANSWERED;
          now.dispatch(idle);
        });
      }
      const chart = before.processes[p]?.charts.tasks[task] ?? NONE;
      if (chart === NONE || statePath(charts.tasks.at(chart).value.run) !== "active.working.busy") return [];
      return checks(before, p, { type: "checkRun", taskId: sessionID } as Effect & { type: "checkRun" }).flatMap(
        (event) =>
          turn(before, p, `sees ${sessionID} end: ${event.type}`, (now) => {
            now.dispatch(idle);
            for (const number of now.process.messages) {
              const message = messages.at(number);
              if (message.kind !== "effect" || message.effect.type !== "checkRun") continue;
              if (message.effect.taskId === sessionID) remove(now, number);
            }
            now.dispatch(ofTask(task, event));
          }),
      );
    });

  /**
   * A process stands still for so long that its work is free. Whatever it does first when it goes on, it looks what it has lost
   * before that: so nothing changes when it does so at once. Only what is on its way to the host stays.
   */
  const standsStill = (before: World, p: number): Move<World>[] => {
    const found = clone(before);
    if (!family.standsStill || !processes.free(found, p)) return [];
    const name = `${nameOf(p)} stands still for too long`;
    return [
      atHost(
        found,
        p,
        name,
        (now) => {
          if (family.heartbeatFails || mistake === "a process that stood still keeps what it has lost")
            now.process.isStale = true;
          else now.renewLease();
        },
        false,
      ),
    ];
  };

  const movesOf = (before: World, p: number): Move<World>[] => {
    const { messages: onTheWay = [], isStale = false } = before.processes[p] ?? {};
    const isFree = [...before.store.tasks, ...before.store.prompts].some(({ owner }) => owner === FREE);
    const dies = { name: `${nameOf(p)} dies`, after: processes.die(before, p), isExpected: false };
    return [
      ...onTheWay.flatMap((number) => [...requests(before, p, number), ...arrivals(before, p, number)]),
      ...ticks(before, p),
      ...(isFree ? turn(before, p, "takes over", (now) => now.takeOver(), { needsLease: true }) : []),
      ...before.calls.flatMap((_, index) => callMoves(before, p, index)),
      ...endings(before, p),
      ...parentMoves(before, p),
      ...(isStale ? turn(before, p, "renews its lease", () => undefined) : []),
      ...(family.dies ? [dies] : []),
      ...standsStill(before, p),
    ];
  };

  /** A notice that arrives late, where the model has read it or nobody will, changes nothing any more. */
  const forgetLateNotices = (world: World) => {
    const read = world.conversation.flatMap(({ prompt, isRead }) => (isRead ? messageID(prompt) : []));
    if (read.length === 0 && !world.isDeleted) return;
    const isLate = (number: number): boolean => {
      const message = messages.at(number);
      if (message.kind !== "effect" || !message.isGivenUp || message.effect.type !== "sendNotice") return false;
      return world.isDeleted || read.includes(message.effect.prompt.messageID);
    };
    for (const process of world.processes)
      if (process.messages.some(isLate)) process.messages = process.messages.filter((number) => !isLate(number));
  };

  /** A task at work, as a launch leaves it. */
  const begin = (id: string): number => {
    const wake = family.wake ? { wake: family.wake } : {};
    const queued = charts.begin(taskInput(id, { parentSessionID: PARENT, ...wake }, AT));
    const sending = charts.step(queued, { type: "SLOT_GRANTED", at: AT });
    return charts.step(sending, { type: "PROMPT_ACCEPTED", at: AT });
  };

  const first = (): World => {
    const snapshots = taskIds.map(begin);
    const inProcess = (p: number) => snapshots.map((snapshot, task) => (family.tasks[task] === p ? snapshot : NONE));
    return {
      processes: [0, 1].map((p) => ({
        ...emptyProcess(taskIds.length),
        charts: { tasks: inProcess(p), outbox: NONE },
      })),
      store: {
        tasks: snapshots.map((snapshot, task) => ({ snapshot, owner: FIRST + (family.tasks[task] ?? 0) })),
        prompts: [],
      },
      agents: family.tasks.map((p) => p + 1),
      conversation: [],
      isParentBusy: [false, false],
      calls: callsOf.map(() => ({ stage: "none", waitsFor: [], delivers: [], holds: [], isRecalled: false })),
      isDeleted: false,
      isSetAside: false,
      wasStopped: false,
      isStopped: false,
      givenUp: [],
    };
  };

  const faultsOf = (world: World): string[] =>
    taskIds.flatMap((_, task) => {
      const notices = world.conversation.filter(({ prompt }) => runsOf(prompt).includes(task)).length;
      const isInOutput = world.calls.some(({ stage, holds }) => stage === "returned" && holds.includes(task));
      const isOwed = world.store.tasks[task]?.owner !== NOBODY || world.isDeleted || world.givenUp.includes(task);
      const isDelivered =
        notices > 0 || world.calls.some(({ stage, delivers }) => stage === "returned" && delivers.includes(task));
      return [
        ...(notices > 1 ? ["an end is delivered by two notices"] : []),
        ...(notices > 0 && isInOutput ? ["an end is delivered by a call and by a notice"] : []),
        ...(isOwed || isDelivered ? [] : ["an end is lost"]),
      ];
    });

  return {
    taken: charts.taken,
    first: first(),
    moves: (world) => {
      const moves = [0, 1].flatMap((p) => movesOf(world, p));
      for (const { after } of moves) forgetLateNotices(after);
      return moves;
    },
    keyOf: (world) => {
      // Where no call is bound to a process, it makes no difference which is which.
      const order = callsOf.length > 0 ? -1 : compareProcesses(world);
      if (order !== 0) return encode(world, order > 0);
      const [key, mirrored] = [encode(world), encode(world, true)];
      if (mirrored < key) return mirrored;
      return key;
    },
    worldOf: (key) => decode(key, taskIds.length, callsOf.length),
    faultsOf,
    isOver: ({ store }) => [...store.tasks, ...store.prompts].every(({ owner }) => owner === NOBODY),
  };
};
