import type { NoticePrompt, OutboxEvent } from "../../src/machines/outbox/events.ts";
import type { Effect, SupervisorEvent } from "../../src/machines/supervisor/events.ts";
import type { TaskEvent } from "../../src/machines/task/events.ts";
import { taskInput } from "../fakes/task-input.ts";
import { AT, createCharts, NONE, PARENT } from "./charts.ts";
import type { Move, Space } from "./explore.ts";
import type { Family } from "./family.ts";
import { createNumbering } from "./numbering.ts";
import { callId, createProcesses, givenUp, ofOutbox, type Turn } from "./process.ts";
import {
  ANSWERED,
  type Call,
  clone,
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

/** An event that tells a process how its request went. */
const answerOf = (event: OutboxEvent, mayBeLost = false): Message => ({
  kind: "event",
  event: ofOutbox(event),
  ...(mayBeLost ? { mayBeLost } : {}),
});

const OUTBOX_TICK = ofOutbox(TICK);

const NOT_FOUND: OutboxEvent = { type: "PARENT_NOT_FOUND", at: AT, message: "" };

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
  const { createTurn, hasEnded, indexOf, ofTask, runsOf } = processes;

  const nameOf = (p: number): string => "AB"[p] ?? "";
  const messageID = (prompt: number): string => prompts.at(prompt).messageID;

  /** Something that a process does, which looks first what it has lost, and may die on the way. */
  const turn = (
    before: World,
    p: number,
    name: string,
    work: (now: Turn) => void,
    { isExpected = true, needsLease = false } = {},
  ): Move<World>[] => {
    const isStale = before.processes[p]?.isStale === true;
    const play = (what: string, renews: boolean, isExpected: boolean): Move<World>[] => {
      const now = createTurn(before, p);
      if (renews) now.renewLease();
      work(now);
      const deaths = now.deaths().map((after) => ({ name: `${what}, and dies meanwhile`, after, isExpected: false }));
      return [{ name: what, after: now.world, isExpected }, ...deaths];
    };
    const what = `${nameOf(p)} ${name}`;
    if (!isStale) return play(what, false, isExpected);
    const failing =
      family.heartbeatFails && !needsLease ? play(`${what}, though its heartbeat fails`, false, false) : [];
    return [...play(what, true, isExpected), ...failing];
  };

  /** Something that happens at the host, in one of its processes. */
  const atHost = (
    before: World,
    p: number,
    name: string,
    work: (now: Turn) => void,
    isExpected = true,
  ): Move<World> => {
    const now = createTurn(before, p);
    work(now);
    return { name, after: now.world, isExpected };
  };

  const remove = ({ process }: Turn, number: number) => {
    process.messages = process.messages.filter((other) => other !== number);
  };

  /** A request has an answer, which is taken as soon as it is given: what comes between them comes as well before or after. */
  const answered = (
    before: World,
    p: number,
    number: number,
    name: string,
    event: (now: Turn) => SupervisorEvent | undefined,
    isExpected = true,
  ): Move<World>[] =>
    turn(
      before,
      p,
      name,
      (now) => {
        remove(now, number);
        const given = event(now);
        if (given) now.dispatch(given);
      },
      { isExpected },
    );

  /** Stores a notice in the parent's conversation, whose model is then about to read it in that process. */
  const storeNotice = ({ world, post }: Turn, p: number, prompt: number) => {
    const isStored = world.conversation.some((stored) => messageID(stored.prompt) === messageID(prompt));
    if (!isStored) world.conversation.push({ prompt, isRead: false });
    if (!isStored && family.reportsStored) {
      const createdAt = world.conversation.length - 1;
      post(answerOf({ type: "PARENT_STORED", at: AT, messageID: messageID(prompt), createdAt }, true));
    }
    if (!world.conversation.some(({ isRead }) => !isRead)) return;
    world.isParentBusy[p] = true;
    world.isStopped = false;
  };

  const sendings = (before: World, p: number, number: number, message: Message & { kind: "effect" }): Move<World>[] => {
    const { effect, isGivenUp = false } = message;
    if (effect.type !== "sendNotice") return [];
    const prompt = prompts.numberOf(effect.prompt);
    const id = effect.prompt.messageID;
    const sent = answerOf({ type: "SENT", at: AT, messageID: id });
    const refused = (retryable: boolean) =>
      answerOf({ type: "SEND_REFUSED", at: AT, messageID: id, message: "", retryable });
    const way = (name: string, work: (now: Turn) => void, isExpected = false): Move<World> =>
      atHost(
        before,
        p,
        `${id}, sent by ${nameOf(p)}, ${name}`,
        (now) => {
          remove(now, number);
          work(now);
        },
        isExpected,
      );
    if (before.isDeleted) {
      return [
        way(
          "finds no parent",
          (now) => {
            if (!isGivenUp) now.post(answerOf(NOT_FOUND));
          },
          true,
        ),
      ];
    }
    const arrives = (now: Turn) => storeNotice(now, p, prompt);
    const comesLater = (now: Turn) => now.post(givenUp(effect));
    if (isGivenUp) return [way("arrives late", arrives, true)];
    const normal = way(
      "arrives",
      (now) => {
        arrives(now);
        now.post(sent);
      },
      true,
    );
    const unreliable = [
      way("arrives, and the answer is lost", (now) => {
        arrives(now);
        now.post(refused(true));
      }),
      way("is lost", (now) => now.post(refused(true))),
      way("takes longer than it is waited for", (now) => {
        comesLater(now);
        now.post(refused(true));
      }),
      way("arrives, and will once more", (now) => {
        comesLater(now);
        arrives(now);
        now.post(sent);
      }),
    ];
    return [
      normal,
      ...(family.isUnreliable ? unreliable : []),
      ...(family.refuses ? [way("is refused for good", (now) => now.post(refused(false)))] : []),
      ...(family.misses ? [way("does not find the parent", (now) => now.post(answerOf(NOT_FOUND)))] : []),
    ];
  };

  /** How a notice stands, as the host says. */
  const standingOf = (world: World, p: number, id: string): OutboxEvent => {
    const place = world.conversation.findIndex(({ prompt }) => messageID(prompt) === id);
    const isRead = world.conversation[place]?.isRead === true;
    const storedAt = place < 0 ? undefined : place;
    const checked = { type: "CHECKED", at: AT, messageID: id, storedAt } as const;
    if (isRead) return { ...checked, standing: "answered" };
    if (place >= 0 && world.isParentBusy[p]) return { ...checked, standing: "pending" };
    return place >= 0 && world.isStopped
      ? { ...checked, standing: "stopped", stoppedAt: AT }
      : { ...checked, standing: "unanswered" };
  };

  /** The ways in which a request to the host goes. */
  const requests = (before: World, p: number, number: number): Move<World>[] => {
    const message = messages.at(number);
    const taken = (name: string, event: (now: Turn) => SupervisorEvent | undefined, isExpected = true) =>
      answered(before, p, number, name, event, isExpected);
    const failing = (name: string, event: OutboxEvent) =>
      family.isUnreliable ? taken(name, () => ofOutbox(event), false) : [];
    const missing = (name: string) => (family.misses ? taken(name, () => ofOutbox(NOT_FOUND), false) : []);
    if (message.kind === "look") {
      const looks = taken("looks for the parent", () => (before.isDeleted ? ofOutbox(NOT_FOUND) : undefined));
      return [...looks, ...missing("looks for the parent, which is not found")];
    }
    if (message.kind === "ask") {
      const { task, call } = message;
      const isBelieved = mistake !== "who takes over does not ask whether a call returned";
      const type = isBelieved && before.calls[call]?.stage === "returned" ? "WAIT_DELIVERED" : "WAIT_ABANDONED";
      return taken(`asks whether call ${call} returned`, () => ofTask(task, { type, at: AT, call: callId(call) }));
    }
    if (message.kind !== "effect") return [];
    const { effect } = message;
    switch (effect.type) {
      case "sendNotice":
        return sendings(before, p, number, message);
      case "readParent": {
        if (before.isDeleted) return taken("finds no parent to read", () => ofOutbox(NOT_FOUND));
        const sender = { agent: "build", model: undefined };
        return [
          ...taken("reads the parent", ({ process }) => {
            const othersRun = process.charts.tasks.some((task) => task !== NONE && !hasEnded(task));
            const setAside = before.isSetAside ? { setAside: "reverted" as const } : {};
            return ofOutbox({ type: "PARENT_READ", at: AT, sender, othersRun, ...setAside });
          }),
          ...failing("cannot read the parent", { type: "READ_FAILED", at: AT, message: "" }),
          ...missing("does not find the parent to read"),
        ];
      }
      case "checkNotice": {
        const { messageID: id } = effect;
        if (before.isDeleted) return taken("finds no parent to ask", () => ofOutbox(NOT_FOUND));
        // The answer may be an old one when it is taken.
        const asks = atHost(before, p, `${nameOf(p)} asks how ${id} stands`, (now) => {
          remove(now, number);
          now.post(answerOf(standingOf(before, p, id)));
        });
        return [
          asks,
          ...failing(`does not hear how ${id} stands`, { type: "CHECK_FAILED", at: AT, messageID: id, message: "" }),
          ...missing("does not find the parent to ask"),
        ];
      }
      case "findParent": {
        const found: OutboxEvent = { type: before.isDeleted ? "PARENT_CLOSED" : "PARENT_FOUND", at: AT };
        return [
          ...taken("searches for the parent", () => ofOutbox(found)),
          ...failing("cannot search for the parent", { type: "SEARCH_FAILED", at: AT, message: "" }),
        ];
      }
      case "checkRun":
        return checks(before, p, effect).flatMap((event) =>
          taken(`hears of ${effect.sessionID}: ${event.type}`, () => ofTask(indexOf(effect.sessionID), event)),
        );
      case "sendPrompt": {
        const { sessionID } = effect.prompt;
        return taken(`has ${sessionID} go on`, ({ world, isLive }) => {
          const task = indexOf(sessionID);
          // What another process goes on with is stopped there, and what was lost is stopped here.
          if (isLive(task)) world.agents[task] = p + 1;
          return ofTask(task, { type: "PROMPT_ACCEPTED", at: AT });
        });
      }
      case "stopSession":
        return taken(`stops ${effect.sessionID}`, () => undefined);
      default:
        throw new Error(`the host is asked for what is not known here: ${effect.type}`);
    }
  };

  /** What the host may say of a run. */
  const checks = (world: World, p: number, { sessionID }: Effect & { type: "checkRun" }): TaskEvent[] => {
    const same = { at: AT, checkId: 0 };
    const hasAnswered: TaskEvent = { type: "CHECKED_ANSWERED", ...same, completedAt: AT, result: "12" };
    const hasFailed: TaskEvent = {
      ...{ type: "CHECKED_FAILED", ...same, completedAt: AT },
      error: { name: "APIError", kind: "provider", message: "401" },
    };
    // Whether a run was answered or failed only matters where an error wakes the parent.
    if (!family.followsRuns) return family.wake === "all" ? [hasAnswered, hasFailed] : [hasAnswered];
    const agent = world.agents[indexOf(sessionID)];
    if (agent === ANSWERED) return [hasAnswered];
    return [agent === p + 1 ? { type: "CHECKED_BUSY", ...same } : { type: "CHECKED_UNANSWERED", ...same }];
  };

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

  const callMoves = (before: World, p: number, index: number): Move<World>[] => {
    const { process, tasks = [] } = callsOf[index] ?? {};
    const { stage } = before.calls[index] ?? {};
    if (process !== p) return [];
    const move = (name: string, work: (now: Turn, call: Call) => void, isExpected = true): Move<World>[] =>
      turn(before, p, `has call ${index} ${name}`, (now) => work(now, now.world.calls[index] as Call), { isExpected });
    const haveEnded = tasks.every((task) => hasEnded(before.store.tasks[task]?.snapshot ?? NONE));
    const deliverNothing = (now: Turn, call: Call) => {
      const { delivers } = call;
      Object.assign(call, { stage: "over", delivers: [], holds: [], isRecalled: false });
      for (const task of delivers) now.send(task, { type: "WAIT_ABANDONED", at: AT, call: callId(index) });
    };
    if (stage === "none") {
      return move(
        "begin to wait",
        (now, call) => {
          call.stage = "waiting";
          tasks.forEach(now.register);
        },
        false,
      );
    }
    if (stage === "waiting") {
      const ended = move("end its wait", (now, call) => {
        // It was let go where a task was lost just now; and it delivers nothing of what ended in another process.
        if (call.stage !== "waiting") return;
        if (tasks.some((task) => !call.waitsFor.includes(task))) return now.letGo(index);
        Object.assign(call, { stage: "ended", waitsFor: [], delivers: call.waitsFor });
      });
      return [...move("aborted", (now) => now.letGo(index), false), ...(haveEnded ? ended : [])];
    }
    if (stage !== "ended") return [];
    const returns = move("return", (now, call) => {
      if (call.isRecalled && mistake !== "a call returns its output though another process delivers what is in it")
        return deliverNothing(now, call);
      call.stage = "returned";
      now.post({ kind: "stored", call: index });
    });
    return [...returns, ...move("aborted before its output is stored", deliverNothing, false)];
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
      if (chart === NONE || charts.tasks.at(chart).value.run !== "working") return [];
      return checks(before, p, { type: "checkRun", sessionID } as Effect & { type: "checkRun" }).flatMap((event) =>
        turn(before, p, `sees ${sessionID} end: ${event.type}`, (now) => {
          now.dispatch(idle);
          for (const number of now.process.messages) {
            const message = messages.at(number);
            if (message.kind !== "effect" || message.effect.type !== "checkRun") continue;
            if (message.effect.sessionID === sessionID) remove(now, number);
          }
          now.dispatch(ofTask(task, event));
        }),
      );
    });

  const parentMoves = (before: World, p: number): Move<World>[] => {
    if (before.isDeleted) return [];
    const isBusy = before.isParentBusy[p] === true;
    const newest =
      before.conversation
        .map(({ prompt }) => messageID(prompt))
        .toSorted()
        .at(-1) ?? "";
    const reads = (what: string, promptID: string): Move<World> =>
      atHost(before, p, `the parent's model reads ${what}in ${nameOf(p)}`, (now) => {
        for (const message of now.world.conversation) message.isRead = true;
        Object.assign(now.world, { isParentBusy: [false, false], isStopped: false });
        const createdAt = before.conversation.length - 1;
        now.post(answerOf({ type: "PARENT_ANSWERED", at: AT, promptID, createdAt }, true));
      });
    // Its id is above those of all notices.
    const promptOfPerson = "msg_9";
    const stops = (now: Turn) => {
      Object.assign(now.world, { isParentBusy: [false, false], wasStopped: true, isStopped: true });
      now.post(answerOf({ type: "PARENT_ERROR", at: AT, message: "aborted" }, true));
    };
    const writes = (now: Turn) => {
      now.world.isParentBusy[p] = true;
      now.world.isStopped = false;
      now.post(answerOf({ type: "PARENT_BUSY", at: AT }, true));
    };
    const setsAside = (now: Turn) => {
      now.world.isSetAside = true;
    };
    const usesAgain = (event: OutboxEvent) => (now: Turn) => {
      now.world.isSetAside = false;
      now.post(answerOf(event, true));
    };
    const person = (name: string, work: (now: Turn) => void, isExpected = false): Move<World> =>
      atHost(before, p, `a person ${name} in ${nameOf(p)}`, work, isExpected);
    const ofPerson = [
      ...(family.stops && isBusy && !before.wasStopped ? [person("stops the parent's turn", stops)] : []),
      ...(family.stops && before.isStopped ? [person("writes to the parent", writes, true)] : []),
      ...(family.setsAside && !before.isSetAside ? [person("sets the parent aside", setsAside)] : []),
      ...(before.isSetAside
        ? [
            person("takes the parent up again", usesAgain({ type: "PARENT_CHANGED", at: AT }), true),
            person(
              "writes to the parent that was set aside",
              usesAgain({ type: "PARENT_STORED", at: AT, messageID: promptOfPerson, createdAt: AT }),
            ),
          ]
        : []),
    ];
    const fails = (now: Turn) => {
      now.world.isParentBusy[p] = false;
      now.post(answerOf({ type: "PARENT_ERROR", at: AT, message: "" }, true));
      now.post(answerOf({ type: "PARENT_IDLE", at: AT }, true));
    };
    const deletes = (now: Turn) => {
      now.world.isDeleted = true;
      now.post(answerOf({ type: "PARENT_CLOSED", at: AT }, true));
    };
    const hasOutbox = before.processes[p]?.charts.outbox !== NONE;
    const launches = turn(before, p, "sees the parent launch a task", (now) =>
      now.dispatch(ofOutbox({ type: "PARENT_PRESENT", at: AT })),
    );
    return [
      ...(family.launches && hasOutbox ? launches : []),
      ...ofPerson,
      ...(isBusy ? [reads("", newest)] : []),
      ...(isBusy && family.stops ? [reads("a newer message of a person, too, ", promptOfPerson)] : []),
      ...(isBusy && family.turnsFail
        ? [atHost(before, p, `the parent's turn fails in ${nameOf(p)}`, fails, false)]
        : []),
      ...(family.deletes ? [atHost(before, p, `the parent is deleted in ${nameOf(p)}`, deletes, false)] : []),
    ];
  };

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
      if (callsOf.length > 0) return encode(world);
      const [key, mirrored] = [encode(world), encode(world, true)];
      if (mirrored < key) return mirrored;
      return key;
    },
    worldOf: (key) => decode(key, taskIds.length, callsOf.length),
    faultsOf,
    isOver: ({ store }) => [...store.tasks, ...store.prompts].every(({ owner }) => owner === NOBODY),
  };
};
