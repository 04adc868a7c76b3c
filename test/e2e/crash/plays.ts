import type { RecordedEvent } from "../lab/events.ts";
import type { Lab } from "../lab/lab.ts";
import { lastUserText, type ModelRequest, textOf, toolResults } from "../lab/model-request.ts";
import { calls, type Reply, text } from "../lab/reply.ts";
import { storedTasks } from "../stored.ts";
import { launching, ours } from "../tasks-and-notices.ts";

/** What agents do until OpenCode is killed, and after it. */
export interface Play {
  /** What the parent's agent calls when it is asked to begin. */
  begin: Reply;
  /** The prompts whose answers are to be delivered. */
  prompts: string[];
  /** What follows once the first results are delivered: a prompt to the parent's agent, and what it calls then. */
  followUp?: { prompt: string; call: (taskIds: string[]) => Reply; prompts: string[] };
}

/** When OpenCode is killed: after what, and how many milliseconds later at most. */
export interface Moment {
  name: string;
  play: Play;
  /** Resolves at the moment. */
  comes: (lab: Lab, parent: string) => Promise<unknown>;
  within: number;
}

const TASKS = ["alpha", "beta", "gamma"];

export const answerOf = (name: string) => `the answer of ${name}`;

const inSession = (request: ModelRequest, parent: string) => request.sessionID === parent;

/** The prompt that a child works on: the newest user text that is a prompt of the play. */
export const promptOf = (request: ModelRequest): string => lastUserText(request).split("\n").at(-1) ?? "";

/** The request from its newest user message on. */
const newest = (request: ModelRequest): ModelRequest => ({
  ...request,
  messages: request.messages.slice(request.messages.findLastIndex(({ role }) => role === "user")),
});

/** True when the step for the newest prompt is done: what it left stands in the conversation, and it was not cut off. */
export const hasStepped = (request: ModelRequest): boolean =>
  toolResults(newest(request)).some(({ output }) => output.includes(promptOf(request)));

/** A child's step leaves a line in a file, so that a step that is done twice shows. */
const step = (name: string) =>
  calls([{ name: "bash", args: { command: `echo ${name} | tee -a steps.txt`, description: "leaves a line" } }], {
    delayMs: 50,
  });

/** A child does one step for each prompt and answers. */
const childReply = (request: ModelRequest): Reply => {
  const name = promptOf(request);
  return hasStepped(request) ? text(answerOf(name), { delayMs: 150 }) : step(name);
};

const batch: Play = { begin: calls(TASKS.map((name) => launching(name))), prompts: TASKS };

const resumed: Play = {
  begin: calls([launching("alpha")]),
  prompts: ["alpha"],
  followUp: {
    prompt: "follow up",
    call: ([id]) => calls([ours("task", { resume: id, prompt: "delta" })]),
    prompts: ["delta"],
  },
};

const forked: Play = { begin: calls([launching("alpha", { fork: true })]), prompts: ["alpha"] };

const childAsks =
  (steps: 0 | 1, name = "alpha") =>
  (lab: Lab, parent: string) =>
    lab.model.waitFor(
      (request) => !inSession(request, parent) && promptOf(request) === name && hasStepped(request) === (steps === 1),
    );

const hears = (matches: (event: RecordedEvent, parent: string) => boolean) => (lab: Lab, parent: string) =>
  lab.events.waitFor((event) => matches(event, parent));

export const moments: Moment[] = [
  {
    name: "while the launch is under way",
    play: batch,
    comes: hears((event) => event.type === "session.created" && event.properties.info.parentID !== undefined),
    within: 15,
  },
  {
    name: "right after the launch",
    play: batch,
    comes: (lab, parent) =>
      lab.model.waitFor((request) => inSession(request, parent) && toolResults(request).length === TASKS.length),
    within: 20,
  },
  { name: "during a prompt", play: batch, comes: childAsks(0), within: 45 },
  { name: "between two steps of a child", play: batch, comes: childAsks(1), within: 140 },
  {
    name: "between a child's answer and its notice",
    play: batch,
    comes: hears(
      (event, parent) =>
        event.type === "message.updated" &&
        event.properties.info.sessionID !== parent &&
        event.properties.info.role === "assistant" &&
        event.properties.info.finish === "stop",
    ),
    within: 25,
  },
  {
    name: "between the sending of a notice and its answer",
    play: batch,
    comes: hears(
      (event, parent) =>
        event.type === "message.part.updated" &&
        event.properties.part.sessionID === parent &&
        event.properties.part.type === "text" &&
        event.properties.part.synthetic === true,
    ),
    within: 30,
  },
  { name: "during a resume", play: resumed, comes: childAsks(0, "delta"), within: 45 },
  { name: "between two steps of a resume", play: resumed, comes: childAsks(1, "delta"), within: 140 },
  {
    name: "during a fork",
    play: forked,
    comes: hears((event) => event.type === "session.created" && event.properties.info.title.includes("(fork #")),
    within: 60,
  },
  { name: "during a forked task's prompt", play: forked, comes: childAsks(0), within: 45 },
];

/** Has the models play it. The parent's agent launches when it is asked to; whatever it is notified of, it says so. */
export const perform = (lab: Lab, parent: string, { begin, followUp }: Play) => {
  lab.model.when((request) => !inSession(request, parent), childReply);
  lab.model.when(
    (request) => inSession(request, parent),
    (request) => {
      const [asked = { role: "user" as const }, ...since] = newest(request).messages;
      const isNew = since.every(({ role }) => role !== "tool");
      const words = textOf(asked);
      if (isNew && words === "begin") return begin;
      if (isNew && followUp && words === followUp.prompt) return followUp.call(storedTasks(lab).map(({ id }) => id));
      return text("noted", { delayMs: 100 });
    },
  );
};
