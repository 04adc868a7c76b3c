import { setTimeout as sleep } from "node:timers/promises";
import { toolResults } from "../../test/e2e/lab/model-request.ts";
import { now } from "../../test/e2e/lab/recording.ts";
import { isSettled } from "../../test/e2e/lab/settled.ts";
import type { SessionMessage } from "../../test/e2e/lab/transcript.ts";
import type { Contender } from "./contender.ts";
import { type Arrival, type AskingChild, type Mark, markOf, scriptParent, userTextOf } from "./scripted-parent.ts";

/** How one child's end was delivered to the parent. */
export type Delivery = {
  /**
   * Milliseconds from the last byte of the child's model to the arrival of the first model request of the parent that
   * carries the child's notice: all of it the work of the host and the contender. Absent when none was ever seen.
   */
  latency?: number;
  /** CPU milliseconds of the server's main thread from the release of the children to that arrival. */
  cpu?: number;
  /** How often the notice stands in the parent's stored messages. */
  stored: number;
};

/** What one round showed. CPU is absent on a system that does not tell of it. */
export type Round = {
  contender: Contender["name"];
  /** Rounds of the same number of tasks and with the same index met the same machine: they are compared in pairs. */
  index: number;
  /** The children, which all ended together. */
  children: Delivery[];
  /** From the last byte of the parent's tool calls to its next model request, which carries all their results. */
  launching: { ms: number; mainThreadMs?: number };
  /** CPU milliseconds of the server process from the parent's prompt until quiet. */
  cpu?: number;
  /** The parent's stored messages that carry notices. */
  noticeMessages: number;
  /** Model requests of the parent from the release of the children until quiet: what the delivery costs. */
  turns: number;
  /** What this process used of one core from the prompt to the last notice, 0 to 1: it takes time from the server. */
  benchLoad: number;
};

/** Milliseconds for which the children work on when all have begun: what their launch left to do is not to be waited for. */
const workMs = 500;

/**
 * Milliseconds without a parent's model request, the parent idle, after which a round is over. Long enough for what a
 * plugin puts off until its notice is delivered: that is part of the round's CPU, too.
 */
const quietMs = 2000;

/** Longest wait in milliseconds for each stage of a round, ten times what an idle machine takes. */
const patienceMs = (tasks: number): number => 30_000 + tasks * 1_000;

/**
 * In a fresh parent session, launches the tasks in one assistant turn, lets that turn end, ends all children at the same
 * moment, and watches how the parent is notified.
 */
export async function runRound(
  contender: Contender,
  { tasks, index }: { tasks: number; index: number },
): Promise<Round> {
  const { lab } = contender;
  const { pid } = lab.opencode;
  const timeoutMs = patienceMs(tasks);
  const parent = await scriptParent(contender, `round ${index} of ${tasks}`, tasks);
  const { arrivals } = parent;

  const begun = markOf(pid);
  await lab.prompt(parent.id, "Launch the tasks.");
  await lab.idle(parent.id, { timeoutMs });
  await lab.until(() => parent.countChildren() >= tasks, { what: `${tasks} children are at work`, timeoutMs });
  const launching = launchingOf(arrivals, tasks);
  const launched = arrivals.length;
  const children = parent.children().map((asking) => ({ ...asking, notice: contender.notice(asking.child) }));
  await sleep(workMs);

  const released = markOf(pid);
  parent.release();
  const arrived = () => arrivalsOf(children, arrivals.slice(launched));
  await waitUntil(() => arrived().every((arrival) => arrival !== undefined), timeoutMs);
  const isQuiet = () => now() - (arrivals.at(-1)?.at ?? 0) >= quietMs;
  await waitUntil(() => isQuiet() && isSettled(lab.events.of(parent.id), released.at), timeoutMs);
  const ended = markOf(pid);

  const firstArrivals = arrived();
  const lastArrival = firstArrivals.reduce<Mark>(
    (last, arrival) => (arrival && arrival.at > last.at ? arrival : last),
    released,
  );
  const messages = (await lab.messages(parent.id)).filter(({ info }) => info.role === "user").map(textIn);
  return {
    contender: contender.name,
    index,
    children: children.map(({ request, notice }, number) => ({
      ...delivery(request.answeredAt, firstArrivals[number], released),
      stored: messages.join("\n").split(notice).length - 1,
    })),
    launching,
    ...(begun.server && ended.server && { cpu: ended.server.process - begun.server.process }),
    noticeMessages: messages.filter((message) => children.some(({ notice }) => message.includes(notice))).length,
    turns: arrivals.length - launched,
    benchLoad: (lastArrival.bench - begun.bench) / (lastArrival.at - begun.at),
  };
}

/** @throws Error when not all results of the launching calls came back at once. */
function launchingOf([asking, resulting]: readonly Arrival[], tasks: number): Round["launching"] {
  const results = resulting ? toolResults(resulting.request).length : 0;
  if (asking?.request.answeredAt === undefined || !resulting || results !== tasks) {
    throw new Error(`${tasks} tasks were launched, but the parent's next request carries ${results} results`);
  }
  const mainThreadMs = mainThreadBetween(asking, resulting);
  return { ms: resulting.at - asking.request.answeredAt, ...(mainThreadMs !== undefined && { mainThreadMs }) };
}

/** For each child, the first arrival that was about it. */
function arrivalsOf(children: (AskingChild & { notice: string })[], arrivals: Arrival[]): (Arrival | undefined)[] {
  const texts = arrivals.map((arrival) => ({ arrival, said: userTextOf(arrival.request) }));
  return children.map(({ notice }) => texts.find(({ said }) => said.includes(notice))?.arrival);
}

function delivery(
  answeredAt: number | undefined,
  arrival: Arrival | undefined,
  released: Mark,
): Omit<Delivery, "stored"> {
  if (!arrival || answeredAt === undefined) return {};
  const cpu = mainThreadBetween(released, arrival);
  return { latency: arrival.at - answeredAt, ...(cpu !== undefined && { cpu }) };
}

function mainThreadBetween(from: Mark, to: Mark): number | undefined {
  return from.server && to.server && to.server.mainThread - from.server.mainThread;
}

function textIn({ parts }: SessionMessage): string {
  return parts.flatMap((part) => (part.type === "text" ? part.text : [])).join("\n");
}

/** Looks every 50 ms. When time is up it goes on without a word: the round's figures say what was missing. */
async function waitUntil(condition: () => boolean, timeoutMs: number): Promise<void> {
  const deadline = now() + timeoutMs;
  while (!condition() && now() < deadline) await sleep(50);
}
