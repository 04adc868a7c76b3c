import type { NoticePrompt, OutboxEvent } from "../../src/machines/outbox/events.ts";
import { isIdle, pendingPrompts } from "../../src/machines/outbox/machine.ts";
import type { Effect, SupervisorEvent } from "../../src/machines/supervisor/events.ts";
import type { TaskEvent } from "../../src/machines/task/events.ts";
import { isAtRest, type TaskSnapshot } from "../../src/machines/task/machine.ts";
import { AT, type ChartSteps, type Charts, NONE, PARENT } from "./charts.ts";
import type { Family } from "./family.ts";
import { createWrap } from "./numbering.ts";
import {
  type Call,
  clone,
  cloneStore,
  emptyProcess,
  FIRST,
  FREE,
  IDLE,
  type Message,
  NOBODY,
  type Numbers,
  type Process,
  type World,
  withNumber,
} from "./world.ts";

export const ofOutbox = (event: OutboxEvent): SupervisorEvent => ({ type: "OUTBOX", id: PARENT, event });

const onTheWay = createWrap((effect: Effect): Message => ({ kind: "effect", effect }));

export const givenUp = createWrap((effect: Effect): Message => ({ kind: "effect", effect, isGivenUp: true }));

const restoring = createWrap(
  ({ value, context }: TaskSnapshot): SupervisorEvent => ({ type: "RESTORE", snapshot: { value, context } }),
);

export const callId = (call: number): string => `call_${call}`;

const idOf = ({ messageID }: NoticePrompt): number => Number(messageID.slice("msg_".length));

const SLOT_GRANTED: TaskEvent = { type: "SLOT_GRANTED", at: AT };

/** A receipt is known at once, and says nothing. */
const RECEIPT_WRITTEN: TaskEvent = { type: "RECEIPT_WRITTEN", at: AT, receipt: { run: 0 } as never };

/**
 * Creates what a process does around its charts, in short: it stores their steps, and then carries out what they ask for
 * (`runtime.ts`); it takes over what is free (`adoption.ts`), lets go of what it has lost, and lets calls wait (`wait.ts`).
 */
export const createProcesses = (family: Family, taskIds: readonly string[], charts: ChartSteps, numbers: Numbers) => {
  const { mistake, calls: callsOf = [] } = family;
  const { messages, prompts } = numbers;

  const indexOf = (taskId: string): number => taskIds.indexOf(taskId);
  const hasEnded = (snapshot: number): boolean => charts.tasks.at(snapshot).context.completedAt !== undefined;
  const runsOf = (prompt: number): number[] => prompts.at(prompt).runs.map(({ taskId }) => indexOf(taskId));
  const ofTask = (task: number, event: TaskEvent): SupervisorEvent => ({
    type: "TASK",
    id: taskIds[task] ?? "",
    event,
  });
  const pending = (outbox: number): NoticePrompt[] =>
    outbox === NONE ? [] : pendingPrompts(charts.outboxes.at(outbox));

  /** An id above all that anybody knows. */
  const nextId = (world: World, { outbox }: Charts): number => {
    const sent = world.processes.flatMap((process) => process.messages).map(messages.at);
    const known = [
      ...[...world.conversation, ...world.store.prompts].map(({ prompt }) => prompts.at(prompt)),
      ...[outbox, ...world.processes.map((process) => process.charts.outbox)].flatMap(pending),
      ...sent.flatMap((one) => (one.kind === "effect" && one.effect.type === "sendNotice" ? one.effect.prompt : [])),
    ];
    return 1 + Math.max(0, ...known.map(idOf));
  };

  /** The process dies, with what it has stored so far. */
  const die = (before: World, p: number, known: Partial<World> = {}): World => {
    const world = clone({ ...before, ...known });
    world.processes[p] = emptyProcess(taskIds.length);
    free(world, p);
    world.agents = world.agents.map((agent) => (agent === p + 1 ? IDLE : agent));
    world.isParentBusy[p] = false;
    for (const [index, call] of world.calls.entries()) {
      if (callsOf[index]?.process !== p || call.stage === "returned" || call.stage === "none") continue;
      Object.assign(call, { stage: "over", waitsFor: [], delivers: [], holds: [], isRecalled: false });
    }
    return world;
  };

  /** What a process has may be taken over. Returns whether it has anything. */
  const free = (world: World, p: number): boolean => {
    const rows = [...world.store.tasks, ...world.store.prompts].filter(({ owner }) => owner === FIRST + p);
    for (const row of rows) row.owner = FREE;
    return rows.length > 0;
  };

  /** One turn of a process's loop, in which nothing else happens in it. */
  const createTurn = (before: World, p: number) => {
    const world = clone(before);
    const me = FIRST + p;
    const process = world.processes[p] as Process;
    /** What was stored, each time that something was, and how calls stood then. */
    const stores: Pick<World, "store" | "calls">[] = [];
    let isFlushing = false;
    let stepped = new Set<number>();
    let hasOutboxStepped = false;
    let effects: Effect[] = [];
    /** The notices under way here, as this process stored them last. */
    let storedPrompts = pending(process.charts.outbox).map(prompts.numberOf);

    const stored = () => {
      stores.push({ store: cloneStore(world.store), calls: world.calls.map((call) => ({ ...call })) });
    };
    const chartOf = (task: number) => charts.tasks.at(process.charts.tasks[task] ?? NONE);
    const isLive = (task: number): boolean => process.charts.tasks[task] !== NONE;
    const live = (): number[] => taskIds.flatMap((_, task) => (isLive(task) ? task : []));
    const lostTasks = (): number[] => live().filter((task) => world.store.tasks[task]?.owner !== me);
    const callsHere = (): [number, Call][] =>
      [...world.calls.entries()].filter(([index]) => callsOf[index]?.process === p);

    const post = (message: Message) => {
      process.messages = withNumber(process.messages, messages.numberOf(message));
    };

    const feed = (event: SupervisorEvent) => {
      const reaction = charts.react(process.charts, event);
      process.charts = reaction.charts;
      for (const task of reaction.stepped) stepped.add(task);
      hasOutboxStepped ||= reaction.hasOutboxStepped;
      effects.push(...reaction.effects);
    };

    const dispatch = (event: SupervisorEvent) => {
      feed(event);
      flush();
    };

    const send = (task: number, event: TaskEvent) => {
      if (isLive(task)) dispatch(ofTask(task, event));
    };

    const answerIfKnown = (effect: Effect): boolean => {
      if (effect.type === "requestSlot") feed(ofTask(indexOf(effect.taskId), SLOT_GRANTED));
      else if (effect.type === "writeReceipt") feed(ofTask(indexOf(effect.taskId), RECEIPT_WRITTEN));
      else return false;
      return true;
    };

    /** Nobody is there any more for these answers. A notice that is on its way arrives all the same. */
    const forgetAnswers = (isFor: (event: SupervisorEvent) => boolean, isOf: (effect: Effect) => boolean) => {
      const forgotten = process.messages.flatMap((number) => {
        const message = messages.at(number);
        if (message.kind === "event") return isFor(message.event) ? [] : number;
        if (message.kind !== "effect" || !isOf(message.effect)) return number;
        const { effect } = message;
        return effect.type === "sendNotice" ? messages.numberOf(givenUp(effect)) : [];
      });
      process.messages = forgotten.reduce<number[]>(withNumber, []);
    };

    const dropOutbox = () => {
      process.charts = { ...process.charts, outbox: NONE };
      forgetAnswers(
        ({ type }) => type === "OUTBOX",
        (effect) => "parentSessionID" in effect,
      );
    };

    const reapOutbox = () => {
      const { outbox } = process.charts;
      if (outbox !== NONE && isIdle(charts.outboxes.at(outbox)) && live().length === 0) dropOutbox();
    };

    const reapTask = (task: number) => {
      process.charts = { ...process.charts, tasks: process.charts.tasks.with(task, NONE) };
      const id = taskIds[task];
      forgetAnswers(
        (event) => event.type === "TASK" && event.id === id,
        (effect) => "taskId" in effect && effect.taskId === id,
      );
    };

    /** Stores the notices under way where they have changed: none with a task that is not this process's. */
    const storePrompts = (refused: readonly number[]): boolean => {
      const mine = pending(process.charts.outbox).map(prompts.numberOf);
      if (String(mine) === String(storedPrompts)) return false;
      const mayStoreAll = mistake === "a notice is stored that carries the end of a task which another process has";
      const kept = mine.filter((prompt) => mayStoreAll || !runsOf(prompt).some((task) => refused.includes(task)));
      storedPrompts = kept;
      const others = world.store.prompts.filter(({ owner }) => owner !== me);
      world.store.prompts = [...others, ...kept.map((prompt) => ({ owner: me, prompt }))];
      return true;
    };

    /** Stores what the charts did. Returns the tasks that another process has. */
    const commit = (tasks: readonly number[], withPrompts: boolean): number[] => {
      const refused = tasks.filter((task) => {
        const row = world.store.tasks[task];
        if (row?.owner !== me) return true;
        row.snapshot = process.charts.tasks[task] ?? NONE;
        if (isAtRest(chartOf(task))) row.owner = NOBODY;
        return false;
      });
      if ((withPrompts && storePrompts(refused)) || tasks.length > 0) stored();
      if (refused.length === 0 || mistake === "a process that stood still keeps what it has lost") return [];
      return lostTasks().concat(refused.filter((task) => !isLive(task)));
    };

    const release = (lost: readonly number[]) => {
      if (lost.length === 0) return;
      for (const [index, call] of callsHere()) {
        if (!callsOf[index]?.tasks.some((task) => lost.includes(task))) continue;
        if (call.stage === "waiting") letGo(index);
        else if (call.stage === "ended") call.isRecalled = true;
      }
      for (const task of lost) {
        dispatch(ofOutbox({ type: "WITHDRAW", at: AT, taskId: taskIds[task] ?? "", run: 0 }));
        reapTask(task);
        stepped.delete(task);
        reapOutbox();
      }
      releasePrompts();
    };

    /** Drops the notices under way that went to another process with their tasks. */
    const releasePrompts = () => {
      const isOurs = storedPrompts.some((prompt) => runsOf(prompt).some(isLive));
      if (pending(process.charts.outbox).length === 0 || isOurs) return;
      dropOutbox();
      hasOutboxStepped = false;
      for (const { value, context } of live().map(chartOf)) {
        if (value.notice === "none" || value.notice === "held" || !context.lastRunResult) continue;
        feed({ type: "EFFECT", at: AT, effect: { type: "queueNotice", end: context.lastRunResult } });
      }
      world.store.prompts = world.store.prompts.filter(({ owner }) => owner !== me);
      storedPrompts = [];
      stored();
      flush();
    };

    /** Carries out what is answered at once. All else is on its way to the host from now on. */
    const perform = (effect: Effect) => {
      switch (effect.type) {
        case "composeNotice": {
          const runs = effect.queue.map(({ taskId, run }) => ({ taskId, run }));
          const prompt = { messageID: `msg_${nextId(world, process.charts)}`, parts: [], runs, toasts: [] };
          return dispatch(ofOutbox({ type: "COMPOSED", at: AT, prompt }));
        }
        case "checkBatches": {
          const ended = world.store.tasks.every(({ snapshot }) => hasEnded(snapshot)) ? effect.batchIds : [];
          return dispatch(ofOutbox({ type: "BATCHES_CHECKED", at: AT, ended }));
        }
        case "noticeRejected":
          for (const { taskId } of effect.runs) world.givenUp = withNumber(world.givenUp, indexOf(taskId));
          return;
        case "showToasts":
        case "reportSetAside":
          return;
        case "checkRun": {
          // Of the checks of a task, the answer to the newest one alone is believed.
          const { taskId } = effect;
          forgetAnswers(
            () => false,
            (other) => other.type === "checkRun" && other.taskId === taskId,
          );
          return post(onTheWay({ ...effect, checkId: 0 }));
        }
        default:
          return post(onTheWay(effect));
      }
    };

    const isReleased = (effect: Effect, lost: readonly number[]): boolean => {
      if (effect.type === "sendNotice") return pending(process.charts.outbox)[0]?.messageID !== effect.prompt.messageID;
      return "taskId" in effect && lost.includes(indexOf(effect.taskId));
    };

    /** True where a notice of the task's end is composed, whoever did that, and however far it has come. */
    const isNoticed = (task: number): boolean =>
      [...world.store.prompts, ...world.conversation].some(({ prompt }) => runsOf(prompt).includes(task));

    /** Calls that wait come to know of a task that has come to this process. */
    const register = (task: number) => {
      for (const [index, call] of callsHere()) {
        const isFor = call.stage === "waiting" && callsOf[index]?.tasks.includes(task);
        if (!isFor || call.waitsFor.includes(task) || !isLive(task)) continue;
        call.waitsFor = withNumber(call.waitsFor, task);
        if (!isNoticed(task)) call.holds = withNumber(call.holds, task);
        send(task, { type: "WAIT_BEGAN", at: AT, call: callId(index) });
      }
    };

    const letGo = (index: number) => {
      const call = world.calls[index] as Call;
      const { waitsFor } = call;
      Object.assign(call, { stage: "over", waitsFor: [], holds: [] });
      for (const task of waitsFor) send(task, { type: "WAIT_ABANDONED", at: AT, call: callId(index) });
    };

    const flush = () => {
      if (isFlushing) return;
      isFlushing = true;
      while (stepped.size > 0 || hasOutboxStepped || effects.length > 0) {
        const open: Effect[] = [];
        for (let asked = effects; asked.length > 0; asked = effects) {
          effects = [];
          open.push(...asked.filter((effect) => !answerIfKnown(effect)));
        }
        const changed = [...stepped].filter(isLive);
        const withPrompts = hasOutboxStepped;
        [stepped, hasOutboxStepped] = [new Set(), false];
        const isEarly = mistake === "effects come before what led to them is stored";
        if (isEarly) open.forEach(perform);
        const lost = commit(changed, withPrompts);
        release(lost);
        for (const task of changed) if (isLive(task) && isAtRest(chartOf(task))) reapTask(task);
        reapOutbox();
        if (!isEarly) for (const effect of open) if (!isReleased(effect, lost)) perform(effect);
        changed.forEach(register);
      }
      isFlushing = false;
    };

    /** Looks what it has lost while it stood still. */
    const renewLease = () => {
      process.isStale = false;
      if (mistake !== "a process that stood still keeps what it has lost") release(lostTasks());
    };

    const takeOver = () => {
      const { tasks, prompts: rows } = world.store;
      const taken = tasks.flatMap(({ owner }, task) => (owner === FREE ? task : []));
      const notices = rows.filter(({ owner }) => owner === FREE).map(({ prompt }) => prompt);
      for (const row of [...tasks, ...rows]) if (row.owner === FREE) row.owner = me;
      stored();
      const found = taken.map((task) => ({ task, snapshot: charts.tasks.at(tasks[task]?.snapshot ?? NONE) }));
      for (const { snapshot } of found) dispatch(restoring(snapshot));
      if (notices.length > 0 && mistake !== "the notices of a dead process are not taken over")
        dispatch({ type: "ADOPT_PROMPTS", at: AT, parentSessionID: PARENT, prompts: notices.map(prompts.at) });
      const runs = mistake === "who takes over does not say which notices are under way" ? [] : notices.flatMap(runsOf);
      const ended = ({ snapshot }: (typeof found)[number]): number =>
        Number(snapshot.context.completedAt !== undefined);
      for (const { task } of found.toSorted((a, b) => ended(a) - ended(b))) {
        const isNoticePending = runs.includes(task);
        send(task, { type: "ADOPTED", at: AT, recovery: family.followsRuns ? "continue" : "fail", isNoticePending });
      }
      for (const { task, snapshot } of found) {
        for (const waiter of snapshot.context.waiters)
          post({ kind: "ask", task, call: Number(waiter.slice("call_".length)) });
      }
      if (family.deletes || family.misses) post({ kind: "look" });
    };

    return {
      world,
      process,
      post,
      send,
      dispatch,
      isLive,
      register,
      letGo,
      renewLease,
      takeOver,
      /** The worlds in which it dies on the way, right after something was stored. */
      deaths: (): World[] => (family.dies ? stores.slice(0, -1).map((known) => die(before, p, known)) : []),
    };
  };

  return { createTurn, die, free, indexOf, hasEnded, runsOf, ofTask };
};

export type Processes = ReturnType<typeof createProcesses>;
export type Turn = ReturnType<Processes["createTurn"]>;
