import {
  hasEnded,
  type ListedTask,
  missedIn,
  type Task,
  type TaskStatus,
  type UsedUpLimit,
  type WaitsFor,
} from "../../task.ts";
import { duration } from "./amounts.ts";
import { missedInShort } from "./instruction-text.ts";
import { otherServer } from "./model-and-server.ts";
import { join, nameOf, type OwnText, own, quoteLine } from "./own-text.ts";
import { awaitedAnswer, SHORT_CHARS } from "./request-text.ts";
import { incompleteInShort } from "./result-text.ts";

/** A live task, as its own report or as a list has it. */
type LiveTask = Pick<ListedTask | Task, "status" | "attention" | "waiting" | "queue" | "server">;

/** What a wait is called. */
interface Wait {
  /** In a column of one or two words; absent where the task's status says enough. */
  state?: "queued" | "offered" | "retrying" | "refused" | "stopping" | "paused";
  /** In a few words. */
  words: string;
  /** In words that follow "Waits for": what for, and who or what ends it. `nextTry` is such as "in 20s". */
  sentence(task: LiveTask, nextTry: OwnText): OwnText;
}

const WAITS: Record<WaitsFor, Wait> = {
  agent: {
    words: "working",
    sentence: (task) => {
      const server = otherServer(task);
      return server === undefined
        ? own`its agent, which is at work`
        : own`its agent, which is at work on server ${server}`;
    },
  },
  tasks: {
    words: "waits for its tasks",
    sentence: ({ waiting }) => {
      if (waiting?.tasks === 1) return own`its own task; it goes on when that ends`;
      const count = waiting?.tasks === undefined ? own`` : own`${waiting.tasks} `;
      return own`its own ${count}tasks; it goes on when they end`;
    },
  },
  person: { words: "blocked by a subtask", sentence: (task) => awaitedAnswer(task) ?? own`the user to answer` },
  slot: {
    state: "queued",
    words: "queued",
    sentence: ({ queue }, nextTry) => {
      if (!queue?.heldUpBy) return own`a slot; it starts at once when one is free`;
      if (queue.heldUpBy.kind === "rateLimit") {
        return own`${nameOf(queue.heldUpBy.name)}, which refuses another task for now (${queue.place - 1} ahead of it); OpenCode asks again for that one ${nextTry}, and then it starts by itself`;
      }
      const { used, limit } = queue.heldUpBy;
      return own`${slotOfLimit(queue.heldUpBy)} (${used} of ${limit} in use, ${queue.place - 1} ahead of it); it starts by itself`;
    },
  },
  fleet: {
    state: "offered",
    words: "waits for a server",
    sentence: () => own`the fleet, which has yet to answer; it is asked again`,
  },
  server: {
    state: "offered",
    words: "waits for a server",
    sentence: ({ status, server }, nextTry) =>
      status === "resumed" && server
        ? own`server ${nameOf(server.label)}, which has its conversation; if it does not go on, the run ends ${nextTry}`
        : own`a free server of the fleet; if none begins it, it runs here ${nextTry}`,
  },
  acceptance: { words: "starting", sentence: () => own`OpenCode to take its prompt` },
  provider: {
    state: "retrying",
    words: "its provider refuses",
    sentence: ({ waiting }, nextTry) => {
      const { provider, attempt = 1, message = "" } = waiting?.refusal ?? {};
      const who = provider === undefined ? own`its provider` : nameOf(provider);
      return own`${who}, which refuses for now: ${quoteLine(message, SHORT_CHARS)}; OpenCode asks again ${nextTry} (attempt ${attempt + 1})`;
    },
  },
  retry: {
    state: "retrying",
    words: "sending its prompt again",
    sentence: (_, nextTry) => own`OpenCode, which did not take its prompt; the prompt is sent again ${nextTry}`,
  },
  model: {
    words: "changing its model",
    sentence: () => own`the turn of its refused model to end; then it goes on with the next model`,
  },
  gate: { words: "running its gate", sentence: () => own`the gate, a command that checks its answer` },
  gateBefore: {
    words: "running its gate before it begins",
    sentence: () => own`the gate's command, which is run once before its agent begins`,
  },
  check: { words: "checking result", sentence: () => own`OpenCode to say whether the run has ended` },
  session: {
    words: "looking for its session",
    sentence: (_, nextTry) => own`OpenCode, which does not find its session; it is asked again ${nextTry}`,
  },
  abort: { words: "finding out who aborted it", sentence: () => own`a short pause to learn who aborted it` },
  recovery: {
    words: "recovering",
    sentence: (_, nextTry) =>
      own`OpenCode to say what became of the run, whose process has ended; it is asked again ${nextTry}`,
  },
  pause: { state: "stopping", words: "pausing", sentence: () => own`its session, which is being stopped for a pause` },
  continue: {
    state: "paused",
    words: "paused",
    sentence: () => own`somebody to have it go on: it is paused, keeps what was done and holds no slot`,
  },
  quota: {
    state: "refused",
    words: "its provider refuses for long",
    sentence: ({ waiting }, nextTry) => {
      const { provider, message = "" } = waiting?.refusal ?? {};
      const who = provider === undefined ? own`its provider` : nameOf(provider);
      return own`${who} to serve again: ${quoteLine(message, SHORT_CHARS)}; it holds no slot, and continues by itself ${nextTry}`;
    },
  },
  stop: {
    state: "stopping",
    words: "stopping",
    sentence: (task) => {
      const server = otherServer(task);
      return server === undefined ? own`its session, which is being stopped` : own`server ${server} to stop it`;
    },
  },
};

/** Another version's task may wait for something that this one does not know. */
const waitOf = ({ waiting }: Pick<LiveTask, "waiting">): Omit<Wait, "sentence"> => {
  const known: Partial<Record<string, Wait>> = WAITS;
  return waiting === undefined ? WAITS.agent : (known[waiting.for] ?? { words: `waits for ${waiting.for}` });
};

/** True for a task that nobody works on yet: it waits for a slot, or for a server of the fleet. */
export const isQueued = (task: Pick<LiveTask, "waiting">): boolean =>
  ["queued", "offered"].includes(waitOf(task).state ?? "");

/** True for a task that goes on when it is told to, or once its provider serves again. */
export const isPaused = ({ waiting }: Pick<LiveTask, "waiting">): boolean =>
  waiting?.for === "continue" || waiting?.for === "quota";

/** What a person sees first of a live task: it asks them, is silent, waits for its turn, or is at work. */
export type Urgency = "asks" | "silent" | "working" | "queued" | "ended";

export const urgencyOf = (task: Pick<LiveTask, "status" | "attention" | "waiting">): Urgency => {
  if (hasEnded(task)) return "ended";
  if (task.attention) return task.attention.kind === "stale" ? "silent" : "asks";
  return isQueued(task) ? "queued" : "working";
};

/** Returns the state of a task in one or two words, for a column. */
export const stateOf = (
  task: Pick<LiveTask, "status" | "attention" | "waiting">,
): "asks you" | "silent" | TaskStatus | NonNullable<Wait["state"]> => {
  const urgency = urgencyOf(task);
  if (urgency === "asks") return "asks you";
  if (urgency === "silent") return "silent";
  return (urgency === "ended" ? undefined : waitOf(task).state) ?? task.status;
};

/** Returns what a live task does or waits for, in a few words. */
export const doingOf = (task: Pick<LiveTask, "waiting">): string => waitOf(task).words;

/** Writes that an ended task goes on by itself; undefined where it does not. */
export const nextRunSummary = ({ nextRun }: Pick<Task, "nextRun">): OwnText | undefined =>
  nextRun && own`goes on by a ${nextRun} once its result is delivered`;

type EndedTask = Pick<Task, "status" | "error" | "incomplete" | "instructions" | "nextRun">;

const howEnded = (task: EndedTask): string => {
  const goesOn = nextRunSummary(task);
  const { status, error, incomplete } = task;
  if (goesOn !== undefined) return `${status}, ${goesOn}`;
  if (status === "error") return error?.message ?? "failed";
  return (status === "completed" ? incompleteInShort({ incomplete }) : undefined) ?? status;
};

/**
 * Returns how a task has ended, in a few words: which instructions its agent missed, why it failed, or what its result lacks,
 * where that is known.
 */
export const endOf = (task: EndedTask): string =>
  [missedInShort(missedIn(task).length), howEnded(task)].filter(Boolean).join(" · ");

/** Returns how long the newest run has taken, or took, in milliseconds. `now` is epoch milliseconds. */
export const runTime = ({ runStartedAt, completedAt }: Pick<Task, "runStartedAt" | "completedAt">, now: number) =>
  (completedAt === undefined ? now : Date.parse(completedAt)) - Date.parse(runStartedAt);

const SUFFIXES = { one: "st", two: "nd", few: "rd", other: "th" } as const;
const ordinals = new Intl.PluralRules("en", { type: "ordinal" });

/** Writes a place, such as `1st` or `12th`. */
export const ordinal = (place: number): OwnText => {
  const suffix = SUFFIXES[ordinals.select(place) as keyof typeof SUFFIXES];
  return own`${place}${suffix}`;
};

/** Names the slot that a limit is about. */
const slotOfLimit = ({ kind, name }: UsedUpLimit): OwnText => {
  if (kind === "total") return own`a slot`;
  return kind === "agent" ? own`a slot of agent ${nameOf(name)}` : own`a slot of ${nameOf(name)}`;
};

/** Writes where a run stands in the queue, and what it waits for; undefined where it is not queued. */
export const queueSummary = ({ queue }: Pick<Task, "queue">): OwnText | undefined => {
  if (!queue) return undefined;
  const { place, heldUpBy } = queue;
  if (!heldUpBy) return own`queued: starts at once`;
  if (heldUpBy.kind === "rateLimit") {
    const { name, until } = heldUpBy;
    return own`queued: ${ordinal(place)}, waits for ${nameOf(name)}, which refused another task and is asked again at ${nameOf(until)}`;
  }
  const { used, limit } = heldUpBy;
  return own`queued: ${ordinal(place)}, waits for ${slotOfLimit(heldUpBy)} (${used} of ${limit} in use)`;
};

/** Describes what a person was asked by a process that has ended, so that nobody waits for the answer; undefined where nothing was. */
const askedInVain = ({ waiting }: LiveTask): OwnText | undefined => {
  const requests = waiting?.lostRequests?.map((what) => quoteLine(what, SHORT_CHARS));
  return (
    requests &&
    own`what it had asked before its OpenCode ended is open no more: ${join(requests, ", ")}; it does that step again, and may ask again`
  );
};

/** Names which process is waited for, and until when, where the one that supervises the task shows no sign of life. */
const silentOwner = ({ waiting }: LiveTask): OwnText | undefined =>
  waiting?.silent &&
  own`its OpenCode, process ${waiting.silent.pid}, has shown no sign of life since ${nameOf(waiting.silent.since)}; another one in the directory takes the task over at ${nameOf(waiting.silent.until)}, or as soon as that process has ended`;

/** Writes what a task waits for. `timeText` writes a time that is known, when the wait ends or something is tried again. */
const sentenceOf = (task: LiveTask, timeText: (until: string) => OwnText): OwnText | undefined => {
  const { waiting, queue } = task;
  if (!waiting) return undefined;
  const until = queue?.heldUpBy?.kind === "rateLimit" ? queue.heldUpBy.until : waiting.until;
  const nextTry = until === undefined ? own`soon` : timeText(until);
  return join([WAITS[waiting.for].sentence(task, nextTry), askedInVain(task), silentOwner(task)], "; ");
};

/**
 * Writes what a live task waits for and what ends that, in words that follow "Waits for"; undefined when no run is under
 * way. It stays true while the task stays as it is: times are those of the clock.
 */
export const waitReason = (task: LiveTask): OwnText | undefined =>
  sentenceOf(task, (until) => own`at ${nameOf(until)}`);

/** Writes the same for one who reads it at once, with how long it has been so. `now` is epoch milliseconds. */
export const waitText = (task: LiveTask, now: number): OwnText | undefined => {
  const reason = sentenceOf(task, (until) => {
    const left = Date.parse(until) - now;
    return left <= 0 ? own`now` : own`in ${duration(left)}`;
  });
  return reason && task.waiting && own`${reason} (for ${duration(now - Date.parse(task.waiting.since))})`;
};
