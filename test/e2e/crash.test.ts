import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import type { RecordedEvent } from "./lab/events.ts";
import { type Lab, startLab } from "./lab/lab.ts";
import { lastUserText, type ModelRequest, textOf, toolResults } from "./lab/model-request.ts";
import { calls, type Reply, text } from "./lab/reply.ts";
import { storedTasks } from "./stored.ts";
import { noticesIn, ours } from "./telling.ts";

/**
 * OpenCode is killed at a moment, started again in the same home, and then all must be as if nothing had happened: every
 * task at its end, every result right, no finished step done twice, each end told once, nobody at work any more.
 *
 * `CRASH_SEED` decides how long after its moment each kill comes; `CRASH_MOMENTS=all` takes all moments, not a handful.
 */
const SEED = Number(process.env.CRASH_SEED ?? Date.now() % 1_000_000);
const ALL = process.env.CRASH_MOMENTS === "all";

const TASKS = ["alpha", "beta", "gamma"];

/** A child's first step leaves a line in a file, so that a step that is done twice shows. */
const step = (name: string) =>
  calls([{ name: "bash", args: { command: `echo ${name} >> steps.txt`, description: "leaves a line" } }], {
    delayMs: 50,
  });

const answerOf = (name: string) => `the answer of ${name}`;

const inSession = (request: ModelRequest, parent: string) => request.sessionID === parent;

/** The prompt that a child works on: the newest user text that is a prompt of the play. */
const promptOf = (request: ModelRequest): string => lastUserText(request).split("\n").at(-1) ?? "";

/** A child does one step for each prompt and answers. What was done before stands in its conversation. */
const childReply = (request: ModelRequest): Reply => {
  const name = promptOf(request);
  const asked = request.messages.findLastIndex(({ role }) => role === "user");
  const done = request.messages.slice(asked).some(({ role }) => role === "tool");
  return done ? text(answerOf(name), { delayMs: 150 }) : step(name);
};

interface Play {
  /** What the parent's agent calls when it is asked to begin. */
  begin: Reply;
  /** The prompts whose answers are to be told. */
  prompts: string[];
  /** What follows once the first tasks are told: a prompt to the parent's agent, and what it calls then. */
  followUp?: { prompt: string; call: (taskIds: string[]) => Reply; prompts: string[] };
}

const launch = (name: string, more: Record<string, unknown> = {}) =>
  ours("task", { description: `about ${name}`, prompt: name, agent: "general", ...more });

const batch: Play = { begin: calls(TASKS.map((name) => launch(name))), prompts: TASKS };

const resumed: Play = {
  begin: calls([launch("alpha")]),
  prompts: ["alpha"],
  followUp: {
    prompt: "follow up",
    call: ([id]) => calls([ours("task", { resume: id, prompt: "delta" })]),
    prompts: ["delta"],
  },
};

const forked: Play = { begin: calls([launch("alpha", { fork: true })]), prompts: ["alpha"] };

/** When the kill comes: after what, and how many milliseconds later at most. */
interface Moment {
  name: string;
  play: Play;
  /** Resolves at the moment. */
  comes: (lab: Lab, parent: string) => Promise<unknown>;
  within: number;
}

const childAsks =
  (count: number, name = "alpha") =>
  (lab: Lab, parent: string) =>
    lab.model.waitFor((request) => {
      if (inSession(request, parent) || promptOf(request) !== name) return false;
      const asked = request.messages.findLastIndex(({ role }) => role === "user");
      return request.messages.slice(asked).filter(({ role }) => role === "tool").length === count;
    });

const hears = (matches: (event: RecordedEvent, parent: string) => boolean) => (lab: Lab, parent: string) =>
  lab.events.waitFor((event) => matches(event, parent), { timeoutMs: 40_000 });

const moments: Moment[] = [
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

/** Numbers between 0 and 1 that a seed decides (mulberry32). */
const random = (seed: number) => {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
};

const draw = random(SEED);

/** Two kills at each moment; of the handful, one at every other. */
const kills = moments.flatMap((moment) => [1, 2].map(() => ({ ...moment, delay: Math.round(draw() * moment.within) })));
const chosen = ALL ? kills : kills.filter((_, index) => index % 4 === 0);

/** The parent's agent launches when it is asked to; whatever it is told, it says so. */
const perform = (lab: Lab, parent: string, { begin, followUp }: Play) => {
  lab.model.when((request) => !inSession(request, parent), childReply);
  lab.model.when(
    (request) => inSession(request, parent),
    (request) => {
      const asked = request.messages.findLastIndex(({ role }) => role === "user");
      const isNew = request.messages.slice(asked).every(({ role }) => role !== "tool");
      const words = textOf(request.messages[asked] ?? { role: "user" });
      if (isNew && words === "begin") return begin;
      if (isNew && followUp && words === followUp.prompt) return followUp.call(storedTasks(lab).map(({ id }) => id));
      return text("noted", { delayMs: 100 });
    },
  );
};

const isOver = async (lab: Lab, parent: string, tellings: number): Promise<boolean> => {
  const { data: busy } = await lab.client.session.status();
  if (!busy || Object.keys(busy).length > 0) return false;
  const tasks = storedTasks(lab);
  return tasks.every(({ owner }) => owner === null) && (await noticesIn(lab, parent)).length >= tellings;
};

const sessionIDs = async (lab: Lab): Promise<string[]> =>
  ((await lab.client.session.list({})).data ?? []).map(({ id }) => id).toSorted();

const over = (lab: Lab, parent: string, tellings: number, what: string) =>
  lab.until(() => isOver(lab, parent, tellings), { what, timeoutMs: 40_000 });

describe(`killed with seed ${SEED}`, () => {
  test.for(chosen)("$name, $delay ms later", { timeout: 120_000 }, async ({ play, comes, delay }) => {
    const lab = await startLab();
    try {
      const parent = await lab.session();
      perform(lab, parent, play);
      const crash = (async () => {
        await comes(lab, parent);
        await sleep(delay);
        await lab.opencode.kill();
      })();
      await lab.prompt(parent, "begin");
      if (play.followUp) {
        await over(lab, parent, play.prompts.length, "the first tasks are told");
        await lab.prompt(parent, play.followUp.prompt);
      }
      await crash;
      await lab.restart();

      const runs = play.followUp ? 2 : 1;
      await over(lab, parent, storedTasks(lab).length * runs, "everything is told");
      const tasks = storedTasks(lab);
      for (const { id, prompt, ...task } of tasks) {
        expect(task).toEqual({ status: "completed", owner: null, result: answerOf(prompt) });
        const of = (await noticesIn(lab, parent)).filter(({ hidden }) => hidden.includes(`Task ${id} `));
        expect(of, `notices of ${id}`).toHaveLength(runs);
      }
      const steps = await readFile(join(lab.opencode.project, "steps.txt"), "utf8").catch(() => "");
      const prompts = play.followUp ? [...play.prompts, ...play.followUp.prompts] : tasks.map(({ prompt }) => prompt);
      expect(steps.split("\n").filter(Boolean).toSorted()).toEqual(prompts.toSorted());
      // A session that was made for a task which never came to be is removed.
      const ids = [parent, ...tasks.map(({ id }) => id)].toSorted();
      await lab.until(async () => isDeepStrictEqual(await sessionIDs(lab), ids), {
        what: `the sessions are ${ids.join(", ")}`,
      });
    } finally {
      await lab.stop();
    }
  });
});
