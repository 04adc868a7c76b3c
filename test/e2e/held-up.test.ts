import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { loadSqlite } from "../../src/services/store/sqlite/driver.ts";
import { readJournal } from "../../src/services/store/sqlite/journal-reader.ts";
import { type Lab, pluginsOf, startLab } from "./lab/lab.ts";
import { lastUserText, type ModelRequest, toolResults } from "./lab/model-request.ts";
import { type OpenCode, startOpenCode } from "./lab/opencode.ts";
import { calls, hang, text } from "./lab/reply.ts";
import { dataFolder, served, statusApi } from "./status-api.ts";
import { storedTasks } from "./stored.ts";
import { inChild, launchFrom, launching, noticesIn, ours } from "./tasks-and-notices.ts";

/** The least that the option takes: with heartbeats, tasks change their process after some 20 s. */
const SOON = { timeouts: { takeover: 15_000 } };

const toolsets = ["tasks", "elisha", "subtasks"];

const [plugin = "none"] = pluginsOf();

let lab: Lab;
let other: OpenCode | undefined;

beforeAll(async () => {
  lab = await startLab({
    plugin: [String(plugin), { toolsets }],
    config: { permission: { bash: { "*": "allow", "git push*": "ask" } } },
  });
});

afterAll(() => lab.stop());

afterEach(async () => {
  await other?.stop();
  other = undefined;
});

/** Opens a second OpenCode in the same project, and has it start the plugin. */
const openOther = async (options: Record<string, unknown> = {}): Promise<OpenCode> => {
  other = await startOpenCode({ ...lab.options, plugins: [[String(plugin), options]] });
  await other.client.session.list();
  return other;
};

const taskOf = (id: string) => storedTasks(lab).find((task) => task.id === id);

/** Stops the first OpenCode while `meanwhile` happens, as a debugger or a machine under load does. */
const whileHeldUp = async (meanwhile: () => Promise<unknown>): Promise<void> => {
  const { pid } = lab.opencode;
  process.kill(pid, "SIGSTOP");
  try {
    await meanwhile();
  } finally {
    process.kill(pid, "SIGCONT");
  }
};

const untilTaken = (id: string) => {
  const before = taskOf(id)?.owner;
  return expect.poll(() => taskOf(id)?.owner, { interval: 200 }).not.toBe(before);
};

const atRest = async (id: string) => {
  const isOver = () => taskOf(id)?.owner === null;
  await lab.until(isOver, { what: `${id} is delivered` });
};

test("a process that is held up is waited for: nobody takes its tasks, and its model is asked once", async () => {
  await openOther();
  const parent = await lab.session();
  const prompt = "a task that is waited for";
  const waits = hang();
  lab.model.when(inChild(prompt), waits);
  const [id = ""] = await launchFrom(lab, parent, [prompt]);
  const owner = taskOf(id)?.owner;
  const pause = Promise.withResolvers<void>();
  // Beyond the lease of 15 s by which a process elsewhere is judged.
  setTimeout(pause.resolve, 22_000);
  await whileHeldUp(() => pause.promise);
  expect(taskOf(id)?.owner).toBe(owner);
  waits.release(text("It was slow."));
  await atRest(id);
  expect(taskOf(id)).toMatchObject({ status: "completed", result: "It was slow." });
  expect(lab.model.requests.filter(inChild(prompt))).toHaveLength(1);
  expect(await noticesIn(lab, parent)).toHaveLength(1);
});

test("a process that wakes after its task was taken over makes none of the calls that its model had asked for", async () => {
  await openOther(SOON);
  const parent = await lab.session();
  const prompt = "a task that two would do";
  const file = join(lab.opencode.project, "written-by");
  const writes = (name: string) =>
    calls([{ name: "bash", args: { command: `echo ${name} >> ${file}`, description: "write" } }]);
  const [ofFirst, ofSecond] = [hang(), hang()];
  let asked = 0;
  lab.model.when(inChild(prompt), (request) => {
    if (toolResults(request).length > 0) return text("Done once.");
    asked += 1;
    return asked === 1 ? ofFirst : ofSecond;
  });
  const [id = ""] = await launchFrom(lab, parent, [prompt]);
  await whileHeldUp(async () => {
    await untilTaken(id);
    await expect.poll(() => asked).toBe(2);
    // The first process finds this answer when it wakes.
    ofFirst.release(writes("first"));
  });
  await expect.poll(() => lab.opencode.log()).toContain("was taken over by another process");
  ofSecond.release(writes("second"));
  await atRest(id);
  expect(readFileSync(file, "utf8").trim().split("\n")).toEqual(["second"]);
  expect(taskOf(id)).toMatchObject({ status: "completed", result: "Done once." });
  expect(await noticesIn(lab, parent)).toHaveLength(1);
});

test("calls that wait for tasks which are taken over let go, and notices deliver each result once", async () => {
  await openOther({ ...SOON, toolsets });
  const waiting = [
    {
      tool: "asyncagents_output",
      call: (prompt: string) => launching(prompt),
      next: (id: string) => ours("output", { task_id: id, block: true, timeout: 600_000 }),
    },
    {
      tool: "elisha_task",
      call: (prompt: string) => ({ name: "elisha_task", args: { title: "t", agent: "general", prompt } }),
    },
    {
      tool: "create_subtask_general",
      call: (intent: string) => ({ name: "create_subtask_general", args: { title: "t", intent } }),
    },
  ].map((kind) => ({ ...kind, word: `wait with ${kind.tool}`, prompt: `what ${kind.tool} waits for`, waits: hang() }));
  const parents: string[] = [];
  const ids: string[] = [];
  for (const { call, next, word, prompt, waits } of waiting) {
    const isOurs = (request: ModelRequest) => isChild(request) && lastUserText(request).includes(prompt);
    lab.model.when(isOurs, waits);
    lab.model.when(word, (request) => {
      const [first, second] = toolResults(request);
      if (!first) return calls([call(prompt)]);
      return next && !second ? calls([next(/ses_\w+/.exec(first.output)?.[0] ?? "")]) : text("I go on.");
    });
    const parent = await lab.session();
    await lab.prompt(parent, word);
    parents.push(parent);
    ids.push((await lab.model.waitFor(isOurs)).sessionID);
  }
  const endsOf = async (at: number) =>
    (await lab.messages(parents[at] ?? "")).flatMap(({ parts }) =>
      parts.flatMap((part) => (part.type === "tool" && part.tool === waiting[at]?.tool ? part.state : [])),
    );
  const each = async (is: (at: number) => Promise<boolean>) =>
    (await Promise.all(waiting.map((_, at) => is(at)))).every(Boolean);
  await lab.until(() => each(async (at) => (await endsOf(at)).at(-1)?.status === "running"), { what: "all wait" });
  await whileHeldUp(async () => {
    await untilTaken(ids[0] ?? "");
    for (const { waits, tool } of waiting) waits.release(text(`RESULT-OF-${tool}`));
    const haveEnded = () => ids.every((id) => taskOf(id)?.status === "completed");
    await expect.poll(haveEnded).toBe(true);
  });
  await lab.until(
    async () => ids.every((id) => taskOf(id)?.owner === null) && each(async (at) => isOver(await endsOf(at))),
    {
      what: "all calls have returned, and all tasks rest",
    },
  );
  for (const [at, { tool }] of waiting.entries()) {
    const ends = await endsOf(at);
    expect(ends).toMatchObject([{ status: "error", error: expect.stringContaining("Another OpenCode process") }]);
    expect(JSON.stringify(ends)).not.toContain(`RESULT-OF-${tool}`);
    expect(await noticesIn(lab, parents[at] ?? "")).toMatchObject([
      { taskId: ids[at], hidden: expect.stringContaining(`> RESULT-OF-${tool}`) },
    ]);
  }
});

/** The owners that the store knows: what each serves, and when it showed last that it lives. */
const owners = (): { pid: number; directory: string; beatAt: number }[] => {
  const database = new DatabaseSync(join(dataFolder(lab), "tasks.db"), { readOnly: true, timeout: 5_000 });
  try {
    const rows = database.prepare("SELECT pid, directory, beat_at FROM owner").all();
    return rows.map(({ pid, directory, beat_at }) => ({
      pid: Number(pid),
      directory: String(directory),
      beatAt: Number(beat_at),
    }));
  } finally {
    database.close();
  }
};

/** Waits until the first OpenCode has shown three times that it lives: it takes over with each of these. */
const threeBeats = async () => {
  const beatOf = () => Math.max(...owners().flatMap(({ pid, beatAt }) => (pid === lab.opencode.pid ? beatAt : [])));
  let [seen, last] = [0, beatOf()];
  const hasBeaten = () => {
    const now = beatOf();
    if (now > last) seen += 1;
    last = now;
    return seen >= 3;
  };
  await lab.until(hasBeaten, { what: "it has beaten three times" });
};

test("who reads a task of another directory through the status API is no candidate for it", async () => {
  await served(lab);
  const project = join(lab.options.home, "elsewhere");
  other = await startOpenCode({ ...lab.options, project });
  const { client } = other;
  const { data: session } = await client.session.create({ title: "elsewhere" }, { throwOnError: true });
  const prompt = "a task of another directory";
  const waits = hang();
  lab.model.when(inChild(prompt), waits);
  lab.model.when("launch it elsewhere", [calls([launching(prompt)]), text("launched")]);
  const parts = [{ type: "text" as const, text: "launch it elsewhere" }];
  await client.session.promptAsync({ sessionID: session.id, parts }, { throwOnError: true });
  const { sessionID: id } = await lab.model.waitFor(inChild(prompt));
  await expect.poll(() => taskOf(id)?.owner).toBeTruthy();
  const read = await statusApi(lab).get(`/v1/tasks/${id}/logs`);
  expect(JSON.stringify(read)).toContain(prompt);
  await threeBeats();
  expect(owners().filter(({ directory }) => directory === project)).toMatchObject([{ pid: other.pid }]);

  const owner = taskOf(id)?.owner;
  await other.kill();
  await threeBeats();
  expect(taskOf(id)?.owner).toBe(owner);
  expect(lab.model.requests.filter(inChild(prompt))).toHaveLength(1);

  other = await startOpenCode({ ...lab.options, project });
  await other.client.session.list();
  waits.release(text("It went on."));
  await atRest(id);
  expect(taskOf(id)).toMatchObject({ status: "completed", result: "It went on." });
});

test("what was asked in an OpenCode that is killed is asked again where its task goes on", async () => {
  const second = await openOther();
  const parent = await lab.session();
  const prompt = "a task that asks";
  const pushes = calls([{ name: "bash", args: { command: "git push --dry-run", description: "push" } }]);
  lab.model.when(inChild(prompt), (request) => (toolResults(request).length > 0 ? text("Pushed.") : pushes));
  const [id = ""] = await launchFrom(lab, parent, [prompt]);
  const asked = async ({ client }: Pick<OpenCode, "client">) =>
    ((await client.permission.list()).data ?? []).filter(({ sessionID }) => sessionID === id);
  await lab.until(async () => (await asked(lab)).length === 1, { what: "it asks" });
  await lab.opencode.kill();
  await expect.poll(async () => (await asked(second)).length).toBe(1);
  const [request] = await asked(second);
  await second.client.permission.reply({ requestID: request?.id ?? "", reply: "once" });
  await expect.poll(() => taskOf(id)?.status).toBe("completed");
  const events = readEvents(id);
  expect(events.filter((type) => ["REQUEST_ASKED", "ADOPTED"].includes(type))).toEqual([
    "REQUEST_ASKED",
    "ADOPTED",
    "REQUEST_ASKED",
  ]);
  expect(taskOf(id)?.result).toBe("Pushed.");
  await lab.restart();
});

/** The types of the events in a task's journal, oldest first. */
const readEvents = (id: string): string[] => {
  const database = loadSqlite({ readonly: true })(join(dataFolder(lab), "tasks.db"));
  try {
    return readJournal(database, id)?.events.map(({ type }) => type) ?? [];
  } finally {
    database.close();
  }
};

const isChild = ({ parentSessionID }: ModelRequest) => parentSessionID !== undefined;

const isOver = (ends: { status: string }[]) => ends.every(({ status }) => status === "error" || status === "completed");
