import { describe, expect, onTestFinished, test } from "vitest";
import { type Lab, startLab } from "./lab/lab.ts";
import { lastUserText, type ModelRequest, toolResults } from "./lab/model-request.ts";
import { calls, type HangReply, hang, type Reply, type ScriptedCall, text } from "./lab/reply.ts";
import { type ScriptedModel, startModel } from "./lab/scripted-model.ts";
import { setUp } from "./lab/set-up.ts";
import { storedTasks } from "./stored.ts";
import { childOf, inChild, launchFrom, launching, noticesIn, notified, ours } from "./tasks-and-notices.ts";

const repository = new URL("../..", import.meta.url).href;

type PluginWithOptions = [string, Record<string, unknown>];

const TWO_SLOTS: PluginWithOptions = [repository, { concurrency: { default: 2 } }];

/** Each limit leaves room where a narrower one does not. */
const NARROW: PluginWithOptions = [
  repository,
  { concurrency: { default: 4, providers: { other: 2 }, models: { "other/o1": 1 } } },
];

let model: ScriptedModel;
let lab: Lab;

/** Starts a model and OpenCode with this plugin. Resolves to what ends them. */
const startWith = async (plugin: PluginWithOptions) => {
  model = await startModel();
  const options = { baseURL: model.url, apiKey: "none" };
  const o1 = { name: "O1", tool_call: true, limit: { context: 100_000, output: 4096 } };
  const models = { o1, o2: { ...o1, name: "O2" } };
  const other = { npm: "@ai-sdk/openai-compatible", name: "Other", options, models };
  lab = await startLab({ model, plugin, config: { provider: { other } } });
  return async () => {
    await lab.stop();
    await model.stop();
  };
};

/** How many of these requests the model worked on at that time. */
const atWork = (requests: ModelRequest[], time: number): number =>
  requests.filter(({ at, answeredAt = Number.POSITIVE_INFINITY }) => at <= time && answeredAt > time).length;

/** How many of these requests the model worked on at the same time, at most. */
const mostAtOnce = (requests: ModelRequest[]): number => Math.max(...requests.map(({ at }) => atWork(requests, at)));

/** The first request of each session, in the order in which they came. */
const starts = (requests: ModelRequest[]): ModelRequest[] =>
  requests.filter(({ sessionID }, index) => requests.findIndex((other) => other.sessionID === sessionID) === index);

const requestsOf = (parents: string[]) =>
  model.requests.filter(({ parentSessionID }) => parents.includes(parentSessionID ?? ""));

const promptsOf = (requests: ModelRequest[]) => requests.map(lastUserText);

/** The model is silent to the children of a session until it is released, at the latest when the test ends: its slots are free then. */
const holdChildren = (parent: string): HangReply => {
  const held = hang();
  onTestFinished(() => held.release(text("done")));
  model.when((request) => request.parentSessionID === parent, held);
  return held;
};

/** Two that start together may ask their model in either order. */
const expectOrder = (requests: ModelRequest[], launched: string[]) => {
  const started = starts(requests).map(({ sessionID }) => sessionID);
  expect(started.toSorted()).toEqual(launched.toSorted());
  for (const [index, id] of launched.entries()) expect(Math.abs(started.indexOf(id) - index)).toBeLessThan(2);
};

/** Has an agent make these calls, the next step's when those of the one before have returned, and then say that it is done. */
const act = async (parent: string, word: string, ...steps: ScriptedCall[][]) => {
  model.when(word, [...steps.map((step) => calls(step)), text("done")]);
  await lab.ask(parent, word);
};

describe("with one limit for all", () => {
  setUp(() => startWith(TWO_SLOTS));

  test("of twelve launches never more than two are at work, in the order of the launches, and the others say their place", async () => {
    const parent = await lab.session();
    const held = holdChildren(parent);
    const prompts = Array.from({ length: 12 }, (_, index) => `part ${String(index).padStart(2, "0")}`);
    await act(
      parent,
      "launch twelve",
      prompts.map((prompt) => launching(prompt)),
      [ours("list")],
    );
    const request = await model.waitFor((one) => one.sessionID === parent && toolResults(one).length === 13);
    const list = String(toolResults(request).at(-1)?.output);
    expect(list.match(/ · queued: \S+, waits for a slot \(2 of 2 in use\)$/gm)).toHaveLength(10);
    expect(list).toContain("queued: 1st");
    expect(list).toContain("queued: 10th");
    await lab.until(() => requestsOf([parent]).length === 2, { what: "the first two ask their model" });
    held.release(text("done", { delayMs: 150 }));
    const launched = storedTasks(lab).map(({ id }) => id);
    expect(launched).toHaveLength(12);
    expect(await notified(lab, parent, launched)).toHaveLength(12);
    const children = requestsOf([parent]);
    expect(mostAtOnce(children)).toBe(2);
    expectOrder(children, launched);
  });

  test("two processes share a limit", async () => {
    const second = await startLab({ plugin: TWO_SLOTS, home: lab.options.home, model });
    onTestFinished(() => second.stop());
    const labs = [lab, second];
    const parents = await Promise.all(labs.map((of) => of.session()));
    const held = hang();
    model.when((request) => parents.includes(request.parentSessionID ?? ""), held);
    const launches = labs.map((of, index) =>
      launchFrom(
        of,
        parents[index] ?? "",
        [1, 2, 3, 4].map((part) => `process ${index} part ${part}`),
      ),
    );
    const launched = Promise.all(launches);
    await lab.until(() => requestsOf(parents).length === 2, { what: "two of them ask their model" });
    held.release(text("done", { delayMs: 300 }));
    const tasks = await launched;
    for (const [index, of] of labs.entries()) {
      expect(await notified(of, parents[index] ?? "", tasks[index] ?? [])).toHaveLength(4);
    }
    expect(mostAtOnce(requestsOf(parents))).toBe(2);
  });
});

describe("with limits by provider, by model and by agent", () => {
  setUp(() => startWith(NARROW));

  /** A task that launches another. It waits for it in a call, or it ends its turn and is notified. */
  const lead =
    (help: string, name: string, isBlocking: boolean) =>
    (request: ModelRequest): Reply => {
      const [launched, read] = toolResults(request);
      if (!launched) return calls([launching(help, { model: name })], { delayMs: 100 });
      const task = /ses_\w+/.exec(launched.output)?.[0];
      return read || !isBlocking ? text("led") : calls([ours("output", { task_id: task, block: true })]);
    };

  test.each([
    { slots: 1, name: "other/o1" },
    { slots: 2, name: "other/o2" },
  ])(
    "tasks that launch others while $slots of them can be at work all end, and have the last word",
    async ({ slots, name }) => {
      const parent = await lab.session();
      const leads = ["one", "two", "three"].map((which) => `lead ${which} of ${slots}`);
      const helps = leads.map((prompt) => `help ${prompt}`);
      for (const [index, prompt] of leads.entries()) {
        model.when(inChild(prompt), lead(helps[index] ?? "", name, index === 1));
        model.when(inChild(helps[index] ?? ""), text("helped", { delayMs: 100 }));
      }
      await act(
        parent,
        `launch leads of ${slots}`,
        leads.map((prompt) => launching(prompt, { model: name })),
      );
      const ids = await Promise.all(leads.map((prompt) => childOf(lab, prompt)));
      expect((await notified(lab, parent, ids)).map(({ taskId }) => taskId).toSorted()).toEqual(ids.toSorted());
      const children = requestsOf([parent, ...ids]);
      expect(promptsOf(starts(children)).toSorted()).toEqual([...leads, ...helps].toSorted());
      // One that goes on may be one too many for a while; but none starts then.
      for (const { at } of starts(children)) expect(atWork(children, at)).toBeLessThanOrEqual(slots);
      const [first = "", blocking = ""] = ids;
      expect((await noticesIn(lab, first)).map(({ taskId }) => taskId)).toEqual([await childOf(lab, helps[0] ?? "")]);
      expect(await noticesIn(lab, blocking)).toEqual([]);
    },
  );

  test("a crash with a full queue: the next OpenCode has two at work at most, keeps the order, and delivers each end once", async () => {
    const parent = await lab.session();
    const held = holdChildren(parent);
    const prompts = Array.from({ length: 8 }, (_, index) => `piece ${index}`);
    await act(
      parent,
      "launch eight",
      prompts.map((prompt) => launching(prompt, { model: "other/o2" })),
    );
    await lab.until(() => requestsOf([parent]).length === 2, { what: "the first two ask their model" });
    const stored = () => storedTasks(lab).filter(({ prompt }) => prompts.includes(prompt));
    const launched = stored().map(({ id }) => id);
    expect(launched).toHaveLength(8);

    await lab.opencode.kill();
    expect(requestsOf([parent])).toHaveLength(2);
    held.release(text("done", { delayMs: 300 }));
    await lab.restart();

    const notices = await notified(lab, parent, launched);
    expect(notices.map(({ taskId }) => taskId).toSorted()).toEqual(launched.toSorted());
    const later = requestsOf([parent]).slice(2);
    expect(mostAtOnce(later)).toBe(2);
    expectOrder(later, launched);
    const isOver = () => stored().every(({ status, owner }) => status === "completed" && owner === null);
    await lab.until(isOver, { what: "all are completed, and at rest" });
  });
});
