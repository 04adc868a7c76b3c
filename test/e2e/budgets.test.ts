import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Lab, startLab } from "./lab/lab.ts";
import { toolResults } from "./lab/model-request.ts";
import { calls, hang, text } from "./lab/reply.ts";
import { setUp } from "./lab/set-up.ts";
import { served, statusApi } from "./status-api.ts";
import { childOf, inChild, launchFrom, launching, noticesIn, ours } from "./tasks-and-notices.ts";

const LIMITS = {
  loop: { repeat: 3 },
  budget: { toolCalls: 3, tokens: 400_000, cost: 1, tasksPerParent: 2 },
  timeouts: { stale: 3_000 },
};
/** Long enough for a child to begin its first call on a busy machine. */
const TIME = { timeouts: { run: 8_000 } };
/** On a machine that is busy with other tests, which may keep OpenCode itself from noticing a silence. */
const built = new URL("../../", import.meta.url).href;

const wide = { tool_call: true, limit: { context: 1_000_000, output: 4096 } };
/** In US dollars for a million tokens. */
const cost = { input: 20, output: 0 };
const models = { wide: { name: "Wide", ...wide }, dear: { name: "Dear", cost, ...wide } };

let lab: Lab;

setUp(async () => {
  lab = await startLab({ plugin: [built, LIMITS], config: { provider: { scripted: { models } } } });
  return () => lab.stop();
});

const bash = (command: string) => ({ name: "bash", args: { command, description: "try it" } });

const taskOf = async (id: string) => {
  await served(lab);
  return (await statusApi(lab).get(`/v1/tasks/${id}`)).body;
};

/** Waits for the notice of the task's end, and returns its hidden part. */
const noticeOf = (parent: string, task: string): Promise<string> =>
  lab.until(async () => (await noticesIn(lab, parent)).find(({ taskId }) => taskId === task)?.hidden, {
    what: `${parent} is notified of ${task}`,
  });

const expectStopped = async (task: string) => {
  const { data } = await lab.client.session.status();
  expect(data).not.toHaveProperty(task);
};

/** Has an agent launch a task that says something in each of its steps, which use that many tokens. */
const spend = async (prompt: string, model: string, input: number) => {
  const parent = await lab.session();
  const step = (at: number) =>
    calls([bash(`echo ${at}`)], { text: `Step ${at} is done.`, tokens: { input, output: 0 } });
  lab.model.when(inChild(prompt), [step(1), step(2), hang()]);
  lab.model.when(`launch: ${prompt}`, [calls([launching(prompt, { model })]), text("launched")]);
  await lab.ask(parent, `launch: ${prompt}`);
  const task = await childOf(lab, prompt);
  return { task, notice: await noticeOf(parent, task) };
};

const IN_TURN = { concurrent: false };

// One waits for time to pass; the others use it, one after the other.
describe.concurrent("within one OpenCode", () => {
  test("a silent task is shown as stale and reported once, until it shows life again, and then it ends as any other", async () => {
    const parent = await lab.session();
    const [silent, atWork] = [hang(), hang()];
    lab.model.when(inChild("think long"), [silent, atWork]);
    const [task = ""] = await launchFrom(lab, parent, ["think long"]);
    const words = `Task ${task} "about think long" has shown no sign of life for`;
    const notes = async () => (await lab.texts(parent)).filter((line) => line.includes(words));
    const isNotified = async () => (await notes()).length > 0;
    await lab.until(isNotified, { what: "the agent is notified that its task is silent" });
    expect((await taskOf(task)).attention).toMatchObject({ kind: "stale" });
    lab.model.when("how is it going", [calls([ours("list"), ours("output", { task_id: task })]), text("slowly")]);
    await lab.ask(parent, "how is it going");
    const asked = await lab.model.waitFor(
      (request) => request.sessionID === parent && toolResults(request).length === 3,
    );
    expect(JSON.stringify(asked.messages)).toContain("has shown no sign of life for");
    for (const { output } of toolResults(asked).slice(1)) expect(output).toContain("no activity since");

    expect(await notes()).toHaveLength(1);
    const toasts = lab.events.all.filter(
      ({ type, properties }) =>
        type === "tui.toast.show" && properties.message.startsWith('Task "about think long" has shown no sign of life'),
    );
    expect(toasts).toHaveLength(1);

    silent.release(calls([{ name: "glob", args: { pattern: "*.none" } }]));
    await lab.until(async () => (await taskOf(task)).attention === undefined, { what: "it is not stale any more" });
    expect((await taskOf(task)).status).toBe("running");
    atWork.release(text("thought through"));
    expect(await noticeOf(parent, task)).toContain("> thought through");
  });

  describe("on what a task and a session may use", () => {
    test(
      "a task that calls the same tool again and again is stopped, and what it said so far is delivered",
      IN_TURN,
      async () => {
        const parent = await lab.session();
        lab.model.when(inChild("go round"), calls([bash("true")], { text: "Trying once more." }));
        const [task = ""] = await launchFrom(lab, parent, ["go round"]);
        const notice = await noticeOf(parent, task);
        expect(notice).toContain("LoopDetected: It called the tool bash 3 times in a row with the same arguments");
        expect(notice).toContain("a partial result");
        expect(notice).toContain("> Trying once more.");
        await expectStopped(task);
      },
    );

    test("a task that needs more tool calls than its budget has is stopped", { ...IN_TURN, tags: "gate" }, async () => {
      const parent = await lab.session();
      lab.model.when(inChild("try everything"), (request) => calls([bash(`echo ${toolResults(request).length}`)]));
      const [task = ""] = await launchFrom(lab, parent, ["try everything"]);
      expect(await noticeOf(parent, task)).toContain("BudgetExceeded: It used 4 of 3 tool calls, and was stopped.");
      await expectStopped(task);
    });

    test("the calls of a task's own tasks count, and these are stopped with it", IN_TURN, async () => {
      const parent = await lab.session();
      lab.model.when(inChild("have it tried"), [calls([launching("try for another")]), text("waiting")]);
      lab.model.when(inChild("try for another"), (request) => {
        const { length } = toolResults(request);
        return length < 3 ? calls([bash(`echo ${length}`)]) : hang();
      });
      const [lead = ""] = await launchFrom(lab, parent, ["have it tried"]);
      const own = await childOf(lab, "try for another");
      expect(await noticeOf(parent, lead)).toContain(
        "It used 4 of 3 tool calls, its 1 task included, and was stopped.",
      );
      for (const id of [lead, own]) await expectStopped(id);
    });

    test.each([
      {
        prompt: "read much",
        model: "scripted/wide",
        input: 250_000,
        used: "500,000 of 400,000 tokens",
        option: "tokens",
      },
      { prompt: "ask the dear one", model: "scripted/dear", input: 30_000, used: "$1.20 of $1.00", option: "cost" },
    ])(
      "a task beyond its budget of $option ends, what it said is kept, and its notice says what to do",
      IN_TURN,
      async (one) => {
        const { task, notice } = await spend(one.prompt, one.model, one.input);
        expect(notice).toContain(`BudgetExceeded: It used ${one.used}, and was stopped. A retry goes on from there`);
        expect(notice).toContain(`or ask the user to raise the option budget.${one.option}.`);
        expect(notice).toContain("> Step 2 is done.");
        const partial = expect.stringContaining("Step 2 is done.");
        expect(await taskOf(task)).toMatchObject({ status: "error", error: { kind: "budget" }, result: partial });
        await expectStopped(task);
      },
    );

    test(
      "a session that has as many tasks as it may have is refused another, though they have ended",
      IN_TURN,
      async () => {
        const parent = await lab.session();
        const launchAnother = async (prompt: string) => {
          lab.model.when(`launch: ${prompt}`, [calls([launching(prompt)]), text("launched")]);
          await lab.ask(parent, `launch: ${prompt}`);
          const line = (await lab.texts(parent)).findLast((words) => words.startsWith("tool asyncagents_task"));
          return line ?? "";
        };
        for (const prompt of ["the first", "the second"]) {
          expect(await launchAnother(prompt)).toMatch(/^tool asyncagents_task: /);
          await noticeOf(parent, await childOf(lab, prompt));
        }
        expect(await launchAnother("one too many")).toContain(
          'This session has 2 tasks, and that is the limit (option "budget.tasksPerParent"); nothing was launched.',
        );
        expect(lab.model.requests.some(inChild("one too many"))).toBe(false);
      },
    );
  });
});

test("a run that takes too long is stopped, but not while a tool runs", async () => {
  await lab.restart({ plugin: [built, TIME] });
  const parent = await lab.session();
  const runs = "until [ -e may-end ]; do sleep 0.1; done; echo it ran";
  lab.model.when(inChild("have it run"), [calls([bash(runs)]), hang()]);
  lab.model.when(inChild("dawdle"), hang());
  // The busy one is the older: when the other's time is over, so is its own.
  const [busy = "", idle = ""] = await launchFrom(lab, parent, ["have it run", "dawdle"]);
  const tooLong = /RunTimeout: It ran for [\d.]+s of at most 8s, and was stopped/;
  expect(await noticeOf(parent, idle)).toMatch(tooLong);
  await writeFile(join(lab.opencode.project, "may-end"), "");
  expect(await noticeOf(parent, busy)).toMatch(tooLong);
  expect((await noticesIn(lab, parent)).map(({ taskId }) => taskId)).toEqual([idle, busy]);
  expect(await lab.texts(busy)).toContainEqual(expect.stringContaining("it ran"));
  for (const id of [idle, busy]) await expectStopped(id);
});
