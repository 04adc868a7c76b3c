import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { PATIENCE_MS } from "../patience.ts";
import { type Lab, pluginsOf, startLab } from "./lab/lab.ts";
import { lastUserText, type ModelRequest, toolResults } from "./lab/model-request.ts";
import { type OpenCode, startOpenCode } from "./lab/opencode.ts";
import { runOpenCode } from "./lab/opencode-run.ts";
import { calls, hang, text } from "./lab/reply.ts";
import { setUp } from "./lab/set-up.ts";
import { storedTasks } from "./stored.ts";
import { childOf, inChild, launchFrom, launching, noticesIn, ours, wasAsked } from "./tasks-and-notices.ts";

let lab: Lab;

const [plugin = "none"] = pluginsOf();

setUp(async () => {
  lab = await startLab();
  return () => lab.stop();
});

const taskOf = (id: string) => storedTasks(lab).find((task) => task.id === id);

const untilNotified = async (parent: string, id: string) => {
  const of = async () => (await noticesIn(lab, parent)).filter(({ taskId }) => taskId === id);
  const isOver = async () => {
    const { data: busy = {} } = await lab.client.session.status();
    return (await of()).length > 0 && taskOf(id)?.owner === null && !(parent in busy);
  };
  await lab.until(isOver, { what: `${parent} is notified of ${id}, and rests` });
  return of();
};

/** The newest tool result that the parent's model got after it was asked this. */
const newestResult = (parent: string, word: string) => {
  const asked = (request: ModelRequest) => request.sessionID === parent && lastUserText(request) === word;
  const results = lab.model.requests.filter(asked).map((request) => toolResults(request).at(-1));
  return results.findLast((result) => result?.name === "asyncagents_output");
};

test("with recovery: fail, a task that was cut off ends in error, and its parent is notified once", async () => {
  const parent = await lab.session();
  lab.model.when(inChild("a task that is cut off"), hang());
  const [id = ""] = await launchFrom(lab, parent, ["a task that is cut off"]);
  await lab.opencode.kill();
  await lab.restart({ plugin: [String(plugin), { recovery: "fail" }] });
  const notices = await untilNotified(parent, id);
  expect(notices).toHaveLength(1);
  expect(notices[0]?.visible).toContain("failed");
  expect(taskOf(id)?.status).toBe("error");
});

test("what was delivered, and every field of a task, is there after a restart", async () => {
  const parent = await lab.session();
  lab.model.when(inChild("a task from before"), text("its answer"));
  const [id = ""] = await launchFrom(lab, parent, ["a task from before"]);
  await untilNotified(parent, id);
  const read = async (word: string) => {
    lab.model.when(word, [calls([ours("output", { task_id: id })]), text("read")]);
    await lab.prompt(parent, word);
    const { output } = await lab.until(() => newestResult(parent, word), { what: `${word}: the model has the answer` });
    return output;
  };
  const before = await read("read it before");
  await lab.restart({ plugin });
  expect(await read("read it after")).toBe(before);
  expect(before).toContain("its answer");
  expect(await noticesIn(lab, parent)).toHaveLength(1);
});

test("when OpenCode starts its plugins anew in the same process, a running task goes on once a session works there", async () => {
  const parent = await lab.session();
  const waits = hang();
  lab.model.when(inChild("a task across a reload"), waits);
  const [id = ""] = await launchFrom(lab, parent, ["a task across a reload"]);
  const owner = taskOf(id)?.owner;
  await lab.client.instance.dispose();
  const works = hang();
  lab.model.when("work on something", works);
  await lab.prompt(parent, "work on something");
  await lab.until(() => taskOf(id)?.owner !== owner, { what: "the new instance has the task" });
  works.release(text("worked"));
  waits.release(text("It went on."));
  expect(await untilNotified(parent, id)).toHaveLength(1);
  expect(taskOf(id)).toMatchObject({ status: "completed", result: "It went on." });
});

test("a damaged file is set aside as it is, which is said, and tasks go on in a new one", async () => {
  const folder = join(lab.options.home, "data", "opencode-taskchart");
  await lab.opencode.stop();
  const garbage = "this is no database ".repeat(1_000);
  for (const suffix of ["", "-wal", "-shm"]) await rm(join(folder, `tasks.db${suffix}`), { force: true });
  await writeFile(join(folder, "tasks.db"), garbage);
  await lab.restart();
  const parent = await lab.session();
  const [id = ""] = await launchFrom(lab, parent, ["a task in a new file"]);
  expect(await untilNotified(parent, id)).toHaveLength(1);
  const aside = (await readdir(folder)).find((name) => name.startsWith("tasks.db.damaged-"));
  expect(aside && (await readFile(join(folder, aside), "utf8"))).toBe(garbage);
  await lab.until(() => lab.opencode.log().includes("It was set aside"), { what: "the log says so" });
});

describe("opencode run", () => {
  const run = (message: string) =>
    runOpenCode({ plugins: lab.options.plugins, modelURL: lab.model.url, home: lab.options.home, message });

  test("says that a task ends with it, and how its result is collected before that", async () => {
    const work = hang();
    lab.model.when(inChild("a task of a run"), work);
    const isAsked = wasAsked("launch it in a run");
    lab.model.when(isAsked, (request) => {
      const [launched, read] = toolResults(request);
      if (!launched) return calls([launching("a task of a run")]);
      if (read) return text(`collected: ${read.output}`);
      return calls([ours("output", { task_id: /ses_\w+/.exec(launched.output)?.[0], block: true })]);
    });
    const running = run("launch it in a run");
    const { sessionID: parent } = await lab.model.waitFor(isAsked);
    const collects = async () => (await lab.texts(parent)).includes("tool asyncagents_output running");
    await lab.until(collects, { what: "the run collects the result" });
    work.release(text("the run's answer"));
    const { events } = await running;
    const outputs = events.flatMap(({ part }) => part?.state?.output ?? []);
    expect(outputs[0]).toContain("block: true before you answer");
    const texts = events.flatMap(({ type, part }) => (type === "text" ? part?.text : []));
    expect(texts).toContainEqual(expect.stringMatching(/^collected: .*the run's answer/s));
  });

  test("takes its tasks down with it, which is no cancellation: another process goes on with them", async () => {
    const waits = hang();
    lab.model.when(inChild("a task that outlives its run"), waits);
    lab.model.when("launch and leave", [calls([launching("a task that outlives its run")]), text("I leave.")]);
    const { events } = await run("launch and leave");
    const parent = String(events[0]?.sessionID);
    const id = await childOf(lab, "a task that outlives its run");
    waits.release(text("It lived."));
    const notices = await untilNotified(parent, id);
    expect(notices).toHaveLength(1);
    expect(taskOf(id)).toMatchObject({ status: "completed", result: "It lived." });
  });
});

describe("two processes in one project", () => {
  let other: OpenCode;

  setUp(async () => {
    other = await startOpenCode(lab.options);
    // An instance, and its plugins, start with the first request.
    await other.client.session.list();
    return () => other.stop();
  });

  test("when one is killed, the other goes on with its tasks and notifies their parent once", {
    tags: "gate",
  }, async () => {
    const parent = await lab.session();
    const waits = hang();
    lab.model.when(inChild("a task of the killed one"), waits);
    const [id = ""] = await launchFrom(lab, parent, ["a task of the killed one"]);
    const owner = taskOf(id)?.owner;
    await lab.opencode.kill();
    waits.release(text("It goes on."));
    await other.client.session.list();
    await expect
      .poll(() => taskOf(id), { timeout: PATIENCE_MS })
      .toMatchObject({ status: "completed", result: "It goes on.", owner: null });
    expect(owner).not.toBeNull();
    await lab.restart();
    expect(await untilNotified(parent, id)).toHaveLength(1);
  });
});
