import { afterAll, beforeAll, expect, test } from "vitest";
import { type Lab, startLab } from "./lab/lab.ts";
import { type ModelRequest, toolResults } from "./lab/model-request.ts";
import { calls, hang, text } from "./lab/reply.ts";
import { storedTasks } from "./stored.ts";
import { childOf, inChild, launchFrom, launching, noticesIn, ours, told } from "./telling.ts";

const repository = new URL("../..", import.meta.url).href;
const limitedTo = (slots: number): [string, Record<string, unknown>] => [
  repository,
  { concurrency: { default: slots } },
];

let lab: Lab;
/** A second process on the same data folder. */
let second: Lab;

beforeAll(async () => {
  lab = await startLab({ plugin: limitedTo(2) });
  second = await startLab({ plugin: limitedTo(2), home: lab.options.home, model: lab.model });
}, 120_000);

afterAll(async () => {
  await second.stop();
  await lab.stop();
});

/** How many of these requests the model worked on at the same time, at most. */
const mostAtOnce = (requests: ModelRequest[]): number =>
  Math.max(
    ...requests.map(
      ({ at }) =>
        requests.filter((other) => other.at <= at && (other.answeredAt ?? Number.POSITIVE_INFINITY) > at).length,
    ),
  );

const requestsOf = (parents: string[]) =>
  lab.model.requests.filter(({ parentSessionID }) => parents.includes(parentSessionID ?? ""));

test("of twelve launches never more than two are at work, in the order of the launches, and the others say their place", {
  timeout: 120_000,
}, async () => {
  const parent = await lab.session();
  const held = hang();
  lab.model.when((request) => request.parentSessionID === parent, held);
  const prompts = Array.from({ length: 12 }, (_, index) => `part ${String(index).padStart(2, "0")}`);
  lab.model.when("launch twelve", [
    calls(prompts.map((prompt) => launching(prompt))),
    calls([ours("list")]),
    text("launched"),
  ]);
  await lab.ask(parent, "launch twelve");
  const request = await lab.model.waitFor(({ sessionID, messages }) =>
    sessionID === parent ? toolResults({ messages } as ModelRequest).length === 13 : false,
  );
  const list = String(toolResults(request).at(-1)?.output);
  expect(list.match(/ · queued: \S+, waits for a slot \(2 of 2 in use\)$/gm)).toHaveLength(10);
  expect(list).toContain("queued: 1st");
  expect(list).toContain("queued: 10th");
  await lab.until(() => requestsOf([parent]).length === 2, { what: "the first two ask their model" });
  held.release(text("done", { delayMs: 150 }));
  const launched = storedTasks(lab);
  expect(launched).toHaveLength(12);
  const notices = await told(
    lab,
    parent,
    launched.map(({ id }) => id),
  );
  expect(notices).toHaveLength(12);
  const children = requestsOf([parent]);
  expect(mostAtOnce(children)).toBe(2);
  const started = [...new Set(children.map(({ sessionID }) => sessionID))];
  // Two that start together may ask their model in either order.
  for (const [index, { id }] of launched.entries()) expect(Math.abs(started.indexOf(id) - index)).toBeLessThan(2);
});

test("two processes share a limit", { timeout: 120_000 }, async () => {
  const labs = [lab, second];
  const parents = await Promise.all(labs.map((of) => of.session()));
  lab.model.when((request) => parents.includes(request.parentSessionID ?? ""), text("done", { delayMs: 300 }));
  const launches = labs.map((of, index) =>
    launchFrom(
      of,
      parents[index] ?? "",
      [1, 2, 3, 4].map((part) => `process ${index} part ${part}`),
    ),
  );
  const tasks = await Promise.all(launches);
  for (const [index, of] of labs.entries()) {
    expect(await told(of, parents[index] ?? "", tasks[index] ?? [])).toHaveLength(4);
  }
  expect(mostAtOnce(requestsOf(parents))).toBe(2);
});

test("on one slot, a task that launches another waits without holding it, and has the last word", {
  timeout: 120_000,
}, async () => {
  await lab.restart({ plugin: limitedTo(1) });
  const parent = await lab.session();
  lab.model.when(inChild("lead"), [calls([launching("help the lead")]), text("I wait.")]);
  lab.model.when(inChild("help the lead"), text("helped", { delayMs: 300 }));
  const [lead] = await launchFrom(lab, parent, ["lead"]);
  const help = await childOf(lab, "help the lead");
  expect(await told(lab, parent, [String(lead)])).toHaveLength(1);
  expect((await noticesIn(lab, String(lead))).map(({ taskId }) => taskId)).toEqual([help]);
  expect(mostAtOnce(lab.model.requests.filter(({ sessionID }) => [lead, help].includes(sessionID)))).toBe(1);
});

test("a crash with a full queue: the next OpenCode has two at work at most, keeps the order, and delivers each end once", {
  timeout: 180_000,
}, async () => {
  const crashing = await startLab({ plugin: limitedTo(2) });
  const { model } = crashing;
  try {
    const parent = await crashing.session();
    const held = hang();
    model.when((request) => request.parentSessionID === parent, held);
    const prompts = Array.from({ length: 8 }, (_, index) => `piece ${index}`);
    model.when("launch eight", [calls(prompts.map((prompt) => launching(prompt))), text("launched")]);
    await crashing.ask(parent, "launch eight");
    const ofChildren = () => model.requests.filter(({ parentSessionID }) => parentSessionID === parent);
    await crashing.until(() => ofChildren().length === 2, { what: "the first two ask their model" });
    const launched = storedTasks(crashing).map(({ id }) => id);
    expect(launched).toHaveLength(8);

    await crashing.opencode.kill();
    expect(ofChildren()).toHaveLength(2);
    held.release(text("done", { delayMs: 300 }));
    await crashing.restart();

    const notices = await told(crashing, parent, launched);
    expect(notices.map(({ taskId }) => taskId).toSorted()).toEqual(launched.toSorted());
    const later = ofChildren().slice(2);
    expect(mostAtOnce(later)).toBe(2);
    const started = [...new Set(later.map(({ sessionID }) => sessionID))];
    expect(started.toSorted()).toEqual(launched.toSorted());
    for (const [index, id] of launched.entries()) expect(Math.abs(started.indexOf(id) - index)).toBeLessThan(2);
    const over = () => storedTasks(crashing).every(({ status, owner }) => status === "completed" && owner === null);
    await crashing.until(over, { what: "all are completed, and at rest" });
  } finally {
    await crashing.stop();
  }
});
