import type { ListedTask, Task, UsedUpLimit, Waiting } from "../../task.ts";
import { duration } from "./amounts.ts";
import { otherServer } from "./model-and-server.ts";
import { join, nameOf, type OwnText, own, quoteLine } from "./own-text.ts";
import { awaitedAnswer, SHORT_CHARS } from "./request-text.ts";

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

/** A live task, as its own report or as a list has it. */
type LiveTask = Pick<ListedTask | Task, "status" | "attention" | "waiting" | "queue" | "server">;

/** Writes when something is tried again, in words that follow what is done: "in 20s", "at …". */
type NextTry = (until: string | undefined) => OwnText;

const fromNow =
  (now: number): NextTry =>
  (until) => {
    if (until === undefined) return own`soon`;
    const left = Date.parse(until) - now;
    return left <= 0 ? own`now` : own`in ${duration(left)}`;
  };

const onTheClock: NextTry = (until) => (until === undefined ? own`soon` : own`at ${nameOf(until)}`);

/** What each wait is for, and who or what ends it. */
const SENTENCES: Record<Waiting["for"], (task: LiveTask, nextTry: OwnText) => OwnText> = {
  slot: ({ queue }, nextTry) => {
    if (!queue?.heldUpBy) return own`a slot; it starts at once when one is free`;
    if (queue.heldUpBy.kind === "rateLimit") {
      return own`${nameOf(queue.heldUpBy.name)}, which refuses another task for now (${queue.place - 1} ahead of it); OpenCode asks again for that one ${nextTry}, and then it starts by itself`;
    }
    const { used, limit } = queue.heldUpBy;
    return own`${slotOfLimit(queue.heldUpBy)} (${used} of ${limit} in use, ${queue.place - 1} ahead of it); it starts by itself`;
  },
  acceptance: () => own`OpenCode to take its prompt`,
  retry: (_, nextTry) => own`OpenCode, which did not take its prompt; the prompt is sent again ${nextTry}`,
  agent: (task) => {
    const server = otherServer(task);
    return server === undefined
      ? own`its agent, which is at work`
      : own`its agent, which is at work on server ${server}`;
  },
  provider: ({ waiting }, nextTry) => {
    const { provider, attempt = 1, message = "" } = waiting?.refusal ?? {};
    const who = provider === undefined ? own`its provider` : nameOf(provider);
    return own`${who}, which refuses for now: ${quoteLine(message, SHORT_CHARS)}; OpenCode asks again ${nextTry} (attempt ${attempt + 1})`;
  },
  model: () => own`the turn of its refused model to end; then it goes on with the next model`,
  gate: () => own`the gate, a command that checks its answer`,
  check: () => own`OpenCode to say whether the run has ended`,
  session: (_, nextTry) => own`OpenCode, which does not find its session; it is asked again ${nextTry}`,
  abort: () => own`a short pause to learn who aborted it`,
  recovery: (_, nextTry) =>
    own`OpenCode to say what became of the run, whose process has ended; it is asked again ${nextTry}`,
  stop: (task) => {
    const server = otherServer(task);
    return server === undefined ? own`its session, which is being stopped` : own`server ${server} to stop it`;
  },
  fleet: () => own`the fleet, which has yet to answer; it is asked again`,
  server: ({ status, server }, nextTry) =>
    status === "resumed" && server
      ? own`server ${nameOf(server.label)}, which has its conversation; if it does not go on, the run ends ${nextTry}`
      : own`a free server of the fleet; if none begins it, it runs here ${nextTry}`,
  tasks: ({ waiting }) => {
    if (waiting?.tasks === 1) return own`its own task; it goes on when that ends`;
    const count = waiting?.tasks === undefined ? own`` : own`${waiting.tasks} `;
    return own`its own ${count}tasks; it goes on when they end`;
  },
  person: (task) => awaitedAnswer(task) ?? own`the user to answer`,
};

/** Returns the time at which the wait ends or something is tried again; undefined where nobody knows it. */
const untilOf = ({ waiting, queue }: LiveTask): string | undefined =>
  queue?.heldUpBy?.kind === "rateLimit" ? queue.heldUpBy.until : waiting?.until;

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

const sentence = (task: LiveTask, nextTry: NextTry): OwnText | undefined =>
  task.waiting &&
  join([SENTENCES[task.waiting.for](task, nextTry(untilOf(task))), askedInVain(task), silentOwner(task)], "; ");

/**
 * Writes what a live task waits for and what ends that, in words that follow "Waits for"; undefined when no run is under
 * way. It stays true while the task stays as it is: times are those of the clock.
 */
export const waitReason = (task: LiveTask): OwnText | undefined => sentence(task, onTheClock);

/** Writes the same for one who reads it at once, with how long it has been so. `now` is epoch milliseconds. */
export const waitText = (task: LiveTask, now: number): OwnText | undefined => {
  const reason = sentence(task, fromNow(now));
  return reason && task.waiting && own`${reason} (for ${duration(now - Date.parse(task.waiting.since))})`;
};
