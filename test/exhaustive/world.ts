import type { NoticePrompt } from "../../src/machines/outbox/events.ts";
import type { Effect, SupervisorEvent } from "../../src/machines/supervisor/events.ts";
import { type Charts, NONE } from "./charts.ts";
import type { Numbering } from "./numbering.ts";

/*
 * The world of two processes that deliver the ends of tasks to one parent, as plain numbers: where the charts are, what is
 * stored, what is on its way, and what the host has.
 */

/** Who has a row of the store: nobody, a process that has died or stood still for too long, or the process `owner - FIRST`. */
export const [NOBODY, FREE, FIRST] = [0, 1, 2] as const;

/** What a task's agent does where it is at work in no process: it has not answered, or it has. */
export const [IDLE, ANSWERED] = [0, 9] as const;

/** A process of OpenCode. One that dies is followed by another one in its place, which has nothing yet. */
export interface Process {
  /** It stood still for so long that its work was free, and has not looked since what it has lost. */
  isStale: boolean;
  charts: Charts;
  /** What is on its way to the host or back, by number; sorted. */
  messages: number[];
}

export const STAGES = ["none", "waiting", "ended", "returned", "over"] as const;

/** A tool call of the parent that waits for tasks. */
export interface Call {
  /** It has not begun, waits, is about to return its output, has returned it, or is over without. */
  stage: (typeof STAGES)[number];
  /** The tasks that know that it waits. */
  waitsFor: number[];
  /** The tasks whose results are in its output. */
  delivers: number[];
  /** The tasks whose results nobody else may deliver: no notice of theirs was composed when the call began to wait. */
  holds: number[];
  /** Another process delivers what is in the output. */
  isRecalled: boolean;
}

export interface Stored {
  tasks: { snapshot: number; owner: number }[];
  prompts: { owner: number; prompt: number }[];
}

export interface World {
  processes: Process[];
  store: Stored;
  /** Where each task's agent is at work: the number of the process and 1, or `IDLE` or `ANSWERED`. */
  agents: number[];
  /** The notices in the parent's conversation, by number, and whether its model has read them. */
  conversation: { prompt: number; isRead: boolean }[];
  /** In which processes the parent's model is about to read. */
  isParentBusy: boolean[];
  calls: Call[];
  isDeleted: boolean;
  isSetAside: boolean;
  /** A person has stopped the turn in which the model was about to read: once, so that worlds have an end. */
  wasStopped: boolean;
  /** Nothing has begun a turn since. */
  isStopped: boolean;
  /** The tasks whose notice was given up, of which the person is notified. */
  givenUp: number[];
}

/** What is on its way. */
export type Message =
  /** To the host. `isGivenUp`: the process does not wait for the answer any more. */
  | { kind: "effect"; effect: Effect; isGivenUp?: boolean }
  /** To the host: has the call of a process that is no more returned its output? */
  | { kind: "ask"; task: number; call: number }
  /** To the host: is the parent there? */
  | { kind: "look" }
  /** From the host. */
  | { kind: "event"; event: SupervisorEvent; mayBeLost?: boolean }
  /** From the host: the output of the call is stored. */
  | { kind: "stored"; call: number };

/** What worlds have numbers for. */
export interface Numbers {
  messages: Numbering<Message>;
  prompts: Numbering<NoticePrompt>;
}

/** The list with the number, sorted; the same list where it has it. */
export const withNumber = (numbers: readonly number[], number: number): number[] =>
  numbers.includes(number) ? (numbers as number[]) : [...numbers, number].toSorted((a, b) => a - b);

export const cloneStore = ({ tasks, prompts }: Stored): Stored => ({
  tasks: tasks.map(({ snapshot, owner }) => ({ snapshot, owner })),
  prompts: prompts.map(({ owner, prompt }) => ({ owner, prompt })),
});

/** A copy whose parts may be changed; lists of numbers are replaced, never changed. */
export const clone = (world: World): World => ({
  processes: world.processes.map(({ isStale, charts, messages }) => ({ isStale, charts, messages })),
  store: cloneStore(world.store),
  agents: [...world.agents],
  conversation: world.conversation.map(({ prompt, isRead }) => ({ prompt, isRead })),
  isParentBusy: [...world.isParentBusy],
  calls: world.calls.map((call) => ({ ...call })),
  isDeleted: world.isDeleted,
  isSetAside: world.isSetAside,
  wasStopped: world.wasStopped,
  isStopped: world.isStopped,
  givenUp: world.givenUp,
});

export const emptyProcess = (tasks: number): Process => ({
  isStale: false,
  charts: { tasks: Array.from({ length: tasks }, () => NONE), outbox: NONE },
  messages: [],
});

/** Which process comes first where it makes no difference which is which; 0 where only the rest of the world can say. */
export const compareProcesses = ({ processes: [a, b], isParentBusy }: World): number => {
  if (!a || !b) return 0;
  const { charts: one, messages: onesMessages } = a;
  const { charts: other, messages: othersMessages } = b;
  let difference = one.outbox - other.outbox || onesMessages.length - othersMessages.length;
  for (let at = 0; difference === 0 && at < one.tasks.length; at += 1)
    difference = (one.tasks[at] ?? NONE) - (other.tasks[at] ?? NONE);
  for (let at = 0; difference === 0 && at < onesMessages.length; at += 1)
    difference = (onesMessages[at] ?? 0) - (othersMessages[at] ?? 0);
  return difference || Number(a.isStale) - Number(b.isStale) || Number(isParentBusy[0]) - Number(isParentBusy[1]);
};

/** As many numbers as the largest world has, and more. */
const codes = new Uint16Array(1_024);
const bytes = Buffer.from(codes.buffer);

/**
 * Writes a world as a short string, a character for each number.
 * @param isMirrored with the two processes the other way around
 */
export const encode = (world: World, isMirrored = false): string => {
  let length = 0;
  const put = (number: number) => {
    codes[length] = number;
    length += 1;
  };
  const list = (numbers: readonly number[]) => {
    put(numbers.length);
    for (const number of numbers) put(number);
  };
  const owner = (of: number): number => (isMirrored && of >= FIRST ? FIRST + FIRST + 1 - of : of);
  for (const p of isMirrored ? [1, 0] : [0, 1]) {
    const { isStale = false, charts = { tasks: [], outbox: NONE }, messages = [] } = world.processes[p] ?? {};
    put(Number(isStale));
    put(charts.outbox);
    for (const task of charts.tasks) put(task);
    list(messages);
    put(Number(world.isParentBusy[p]));
  }
  for (const { snapshot, owner: of } of world.store.tasks) {
    put(snapshot);
    put(owner(of));
  }
  put(world.store.prompts.length);
  for (const { owner: of, prompt } of world.store.prompts) {
    put(owner(of));
    put(prompt);
  }
  for (const agent of world.agents) put(isMirrored && agent !== IDLE && agent !== ANSWERED ? 3 - agent : agent);
  for (const is of [world.isDeleted, world.isSetAside, world.wasStopped, world.isStopped]) put(Number(is));
  put(world.conversation.length);
  for (const { prompt, isRead } of world.conversation) {
    put(prompt);
    put(Number(isRead));
  }
  list(world.givenUp);
  for (const { stage, waitsFor, delivers, holds, isRecalled } of world.calls) {
    put(STAGES.indexOf(stage));
    put(Number(isRecalled));
    for (const numbers of [waitsFor, delivers, holds]) list(numbers);
  }
  return bytes.toString("utf16le", 0, length * codes.BYTES_PER_ELEMENT);
};

/** Reads what `encode` wrote. */
export const decode = (key: string, tasks: number, calls: number): World => {
  let at = 0;
  const number = (): number => key.charCodeAt(at++);
  const flag = (): boolean => number() === 1;
  const many = <T>(count: number, read: () => T): T[] => {
    const all: T[] = [];
    for (let n = 0; n < count; n += 1) all.push(read());
    return all;
  };
  const list = (): number[] => many(number(), number);
  const isParentBusy: boolean[] = [];
  const process = (): Process => {
    const isStale = flag();
    const outbox = number();
    const charts = { outbox, tasks: many(tasks, number) };
    const messages = list();
    isParentBusy.push(flag());
    return { isStale, charts, messages };
  };
  return {
    processes: many(2, process),
    isParentBusy,
    store: {
      tasks: many(tasks, () => ({ snapshot: number(), owner: number() })),
      prompts: many(number(), () => ({ owner: number(), prompt: number() })),
    },
    agents: many(tasks, number),
    isDeleted: flag(),
    isSetAside: flag(),
    wasStopped: flag(),
    isStopped: flag(),
    conversation: many(number(), () => ({ prompt: number(), isRead: flag() })),
    givenUp: list(),
    calls: many(calls, () => ({
      stage: STAGES[number()] ?? "none",
      isRecalled: flag(),
      waitsFor: list(),
      delivers: list(),
      holds: list(),
    })),
  };
};
