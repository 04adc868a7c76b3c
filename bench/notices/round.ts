import { type ModelRequest, textOf, toolResults } from "../../test/e2e/lab/model-request.ts";
import { now } from "../../test/e2e/lab/recording.ts";
import { calls, hang, text } from "../../test/e2e/lab/reply.ts";
import { isSettled } from "../../test/e2e/lab/settled.ts";
import type { SessionMessage } from "../../test/e2e/lab/transcript.ts";
import type { Child, Contender } from "./contender.ts";
import { type CpuUse, cpuUse } from "./processor.ts";

/** How the parent was told of one child. */
export type Telling = {
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

/** What one round showed. */
export type Round = {
  contender: Contender["name"];
  /** Rounds of the same number of tasks and with the same index met the same machine: they are compared in pairs. */
  index: number;
  /** The children, which all ended together. */
  children: Telling[];
  /** Milliseconds from the last byte of the parent's tool calls to its next model request, which carries their results. */
  launching: number;
  /** CPU milliseconds of the server process from the parent's prompt until quiet. Absent where nobody tells. */
  cpu?: number;
  /** The parent's stored messages that carry notices. */
  noticeMessages: number;
  /** Model requests of the parent from the release of the children until quiet: what being told costs. */
  turns: number;
  /** What this process, the scripted model in it, used of one core from the release to the last notice: 0 to 1. */
  labLoad: number;
};

/** Which round it is to be. */
export type RoundPlan = { tasks: number; index: number };

/**
 * Milliseconds without a parent's model request, the parent idle, after which a round is over. Long enough for what a
 * plugin puts off until its notice is told: that is part of the round's CPU, too.
 */
const quietMs = 2000;

/**
 * Longest wait in milliseconds for each stage of a round: ten times what a machine takes that has something else to do as
 * well. A round that loses a notice ends all the same.
 */
const patienceMs = (tasks: number): number => 30_000 + tasks * 1_000;

/** A model request with what the server and this process had used of the processor when it arrived. */
type Arrival = { request: ModelRequest; server: CpuUse | undefined; lab: number };

/**
 * In a fresh parent session, launches the tasks in one assistant turn, lets that turn end, ends all children at the same
 * moment, and watches how the parent is told. While time is measured, requests are only collected, and read afterwards.
 */
export async function runRound(contender: Contender, { tasks, index }: RoundPlan): Promise<Round> {
  const { lab } = contender;
  const title = `round ${index} of ${tasks}`;
  const descriptions = Array.from({ length: tasks }, (_, number) => `${title} child ${number + 1}`);
  const parent = await lab.session({ title });
  const timeoutMs = patienceMs(tasks);

  const asked: ModelRequest[] = [];
  const held = hang();
  lab.model.when(
    (request) => request.parentSessionID === parent,
    (request) => {
      asked.push(request);
      return held;
    },
  );
  const arrivals: Arrival[] = [];
  const launch = calls(descriptions.map((description) => contender.launch(description, promptOf(description))));
  lab.model.when(
    (request) => request.sessionID === parent,
    (request) => {
      arrivals.push({ request, server: cpuUse(lab.opencode.pid), lab: labCpuMs() });
      return arrivals.length === 1 ? launch : text("Noted.");
    },
  );

  const begun = cpuUse(lab.opencode.pid);
  await lab.prompt(parent, "Launch the tasks.");
  await lab.idle(parent, { timeoutMs });
  await lab.until(() => asked.length >= tasks, { what: `${tasks} children are at work`, timeoutMs });
  const children = descriptions.map((description) => childOf(asked, description));
  const launching = launchingOf(arrivals, tasks);
  const launched = arrivals.length;

  const released = { at: now(), server: cpuUse(lab.opencode.pid), lab: labCpuMs() };
  held.release(text("The child's answer."));
  const notices = children.map(({ child, request }) => ({ request, notice: contender.notice(child) }));
  /** The arrival that told of each child, as far as it has come. */
  const tellings = () => {
    const texts = arrivals.slice(launched).map((arrival) => ({ arrival, said: userTextOf(arrival.request) }));
    return notices.map(({ notice }) => texts.find(({ said }) => said.includes(notice))?.arrival);
  };
  await until(() => tellings().every((told) => told !== undefined));
  await until(() => {
    const newest = arrivals.at(-1);
    const isQuiet = newest === undefined || now() - newest.request.at >= quietMs;
    return isQuiet && isSettled(lab.events.of(parent), released.at);
  });
  const ended = cpuUse(lab.opencode.pid);

  const told = tellings();
  const last = told.findLast((arrival) => arrival !== undefined);
  const messages = (await lab.messages(parent)).filter(({ info }) => info.role === "user").map(textIn);
  return {
    contender: contender.name,
    index,
    children: notices.map(({ request, notice }, number) => ({
      ...tellingOf(request, told[number], released.server),
      stored: messages.join("\n").split(notice).length - 1,
    })),
    launching,
    ...(begun && ended && { cpu: ended.process - begun.process }),
    noticeMessages: messages.filter((message) => notices.some(({ notice }) => message.includes(notice))).length,
    turns: arrivals.length - launched,
    labLoad: last ? (last.lab - released.lab) / (last.request.at - released.at) : Number.NaN,
  };

  /** Looks every 50 ms; gives up silently, for then the figures say what is missing. */
  function until(condition: () => boolean): Promise<unknown> {
    return lab.until(condition, { what: "the round goes on", timeoutMs }).catch(() => undefined);
  }
}

function promptOf(description: string): string {
  return `Do ${description}.`;
}

/** The child that works on this, and what it asked its model. */
function childOf(asked: ModelRequest[], description: string): { child: Child; request: ModelRequest } {
  const request = asked.find((candidate) => userTextOf(candidate).includes(promptOf(description)));
  if (!request) throw new Error(`no child works on "${description}"`);
  return { child: { description, sessionID: request.sessionID }, request };
}

function launchingOf([first, second]: Arrival[], tasks: number): number {
  const results = second ? toolResults(second.request).length : 0;
  if (first?.request.answeredAt === undefined || !second || results !== tasks) {
    throw new Error(`${tasks} tasks were launched, but the parent's next request carries ${results} results`);
  }
  return second.request.at - first.request.answeredAt;
}

function tellingOf(
  { answeredAt }: ModelRequest,
  told: Arrival | undefined,
  released: CpuUse | undefined,
): Omit<Telling, "stored"> {
  if (!told || answeredAt === undefined) return {};
  const cpu = told.server && released && told.server.mainThread - released.mainThread;
  return { latency: told.request.at - answeredAt, ...(cpu !== undefined && { cpu }) };
}

/** Only what users said: a launching call's arguments and its answer name the task as well. */
function userTextOf(request: ModelRequest): string {
  return request.messages
    .filter((message) => message.role === "user")
    .map(textOf)
    .join("\n");
}

function textIn({ parts }: SessionMessage): string {
  return parts.flatMap((part) => (part.type === "text" ? part.text : [])).join("\n");
}

/** What this process has used of the processor, in milliseconds. */
function labCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
