import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { FileWrite, ToolCallEffect } from "../../../../src/machines/host-events.ts";
import { createDisk, type Disk } from "../../../fakes/disk.ts";
import { createStage, PARENT, type Stage } from "../../../fakes/stage.ts";
import { createVirtualClock, settled, type VirtualClock } from "../../../fakes/virtual-clock.ts";

let disk: Disk;
let stage: Stage;
let clock: VirtualClock;

beforeEach(() => {
  disk = createDisk();
  clock = createVirtualClock();
  stage = createStage({ clock, openStore: disk.boot });
});

afterEach(() => {
  stage.engine.stop();
  disk.remove();
});

const FILE = "/project/src/a.ts";

const reading = (path = FILE): ToolCallEffect => ({ kind: "read", path });
const writing = (path = FILE): ToolCallEffect => {
  const file: FileWrite = { path, change: "changed" };
  return { kind: "write", files: [file] };
};

/** An agent calls a tool a moment later. Returns what is added to the output. */
const call = async (sessionID: string, effect?: ToolCallEffect): Promise<string | undefined> => {
  await clock.advance(10);
  return stage.engine.onToolCallEnded({ sessionID, effect, mayAdd: true });
};

const overlapsOf = (id: string) => stage.task(id).progress.overlaps;

const finish = async (id: string) => {
  await stage.finish(id, "Done.");
};

const newestNotice = () =>
  stage
    .notices()
    .at(-1)
    ?.find(({ synthetic }) => synthetic)?.text ?? "";

const NOTHING = undefined;

describe("a task that writes what another one has read", () => {
  test("is told in the output of that call, and the other one in that of its next", async () => {
    const [writer, reader] = [await stage.launch(), await stage.launch({ description: "read along" })];
    expect(await call(reader, reading())).toBe(NOTHING);
    expect(await call(writer, writing())).toBe(
      [
        "[opencode-taskchart] More than one agent uses these files in the same folder:",
        `- "${FILE}": you have written it, task ${reader} "read along" has read it.`,
        "Read such a file again before you write it, and keep what the other agent did.",
      ].join("\n"),
    );
    expect(await call(reader)).toContain(
      `- "${FILE}": you have read it, task ${writer} "${stage.task(writer).description}" has written it.`,
    );
    expect(await call(reader)).toBe(NOTHING);
  });

  test("is told once of each file and agent", async () => {
    const [writer, reader] = [await stage.launch(), await stage.launch()];
    await call(reader, reading());
    expect(await call(writer, writing())).toContain(FILE);
    expect(await call(writer, writing())).toBe(NOTHING);
    await call(reader);
    expect(await call(reader, writing())).toBe(NOTHING);
    await call(reader, reading("/project/b.ts"));
    expect(await call(writer, writing("/project/b.ts"))).toContain("/project/b.ts");
  });

  test("is shown with the file and the other task in the list, the answer of the output tool and the task itself", async () => {
    const [writer, reader] = [await stage.launch(), await stage.launch()];
    await call(reader, reading());
    await call(writer, writing());
    const at = new Date(clock.now()).toISOString();
    expect(overlapsOf(writer)).toEqual([
      { path: FILE, at, did: "wrote", other: { sessionID: reader, did: "read" }, untold: ["caller"] },
    ]);
    expect(overlapsOf(reader)).toEqual([
      { path: FILE, at, did: "read", other: { sessionID: writer, did: "wrote" }, untold: ["agent"] },
    ]);
    expect(await stage.call("list")).toMatch(/shares "a\.ts"/);
    expect(await stage.call("output", { task_id: writer, timeout: 0 })).toContain(
      `Files shared with other agents: "${FILE}" (it has written it, ${reader} has read it).`,
    );
  });

  test("has the agent that launched both told in the notice of its end, and not again in that of the other", async () => {
    const [writer, reader] = [await stage.launch(), await stage.launch()];
    await call(reader, reading());
    await call(writer, writing());
    await finish(writer);
    expect(newestNotice()).toContain(`Files shared with other agents: "${FILE}"`);
    await finish(reader);
    expect(newestNotice()).toContain(reader);
    expect(newestNotice()).not.toContain("Files shared");
  });

  test("has an agent at work that launched it told with its next call, and not again in the notice", async () => {
    const [writer, reader] = [await stage.launch(), await stage.launch({ description: "read along" })];
    await call(reader, reading());
    await call(writer, writing());
    const description = stage.task(writer).description;
    expect(await call(PARENT)).toContain(
      `- "${FILE}": task ${reader} "read along" has read it, task ${writer} "${description}" has written it.`,
    );
    expect(await call(PARENT)).toBe(NOTHING);
    await finish(writer);
    expect(newestNotice()).not.toContain("Files shared");
  });

  test("has the agent that launched the other one told, too, where that is another one", async () => {
    const OTHER = "ses_other";
    stage.host.addSession(OTHER);
    const writer = await stage.launch();
    const reader = await stage.launch({}, { sessionID: OTHER });
    await call(reader, reading());
    await call(writer, writing());
    expect(await call(OTHER)).toContain(FILE);
    expect(await call(PARENT)).toContain(FILE);
  });
});

describe("a task and the agent that launched it", () => {
  test("are told when the task writes what that agent has read since", async () => {
    const writer = await stage.launch({ description: "edit it" });
    await call(PARENT, reading());
    expect(await call(writer, writing())).toContain(
      `- "${FILE}": you have written it, the agent that launched you has read it.`,
    );
    expect(await call(PARENT)).toContain(`- "${FILE}": you have read it, task ${writer} "edit it" has written it.`);
  });

  test("are told when that agent writes what the task has read", async () => {
    const reader = await stage.launch({ description: "read it" });
    await call(reader, reading());
    expect(await call(PARENT, writing())).toContain(
      `- "${FILE}": you have written it, task ${reader} "read it" has read it.`,
    );
    expect(await call(reader)).toContain(`- "${FILE}": you have read it, the agent that launched you has written it.`);
    await finish(reader);
    expect(newestNotice()).not.toContain("Files shared");
  });

  test("are not, where that agent used the file before: it launched the task with that", async () => {
    await stage.launch();
    await call(PARENT, writing());
    await clock.advance(10);
    const writer = await stage.launch();
    expect(await call(writer, writing())).toBe(NOTHING);
  });

  test("are told as two tasks, where that agent is a task's", async () => {
    const above = await stage.launch({ description: "lead" });
    const below = await stage.launch({ description: "help" }, { sessionID: above });
    await call(above, reading());
    expect(await call(below, writing())).toContain(`task ${above} "lead" has read it`);
    expect(await call(above)).toContain(`task ${below} "help" has written it`);
    expect(overlapsOf(below)?.map(({ untold }) => untold)).toEqual([[]]);
    expect(await call(PARENT)).toContain(FILE);
  });
});

describe("an agent above a task that another one launched", () => {
  test("is told with its next call, and named by its session to the task", async () => {
    const above = await stage.launch({ description: "lead" });
    const below = await stage.launch({ description: "help" }, { sessionID: above });
    await call(PARENT, reading());
    expect(await call(below, writing())).toContain(`you have written it, the agent of session ${PARENT} has read it.`);
    expect(await call(PARENT)).toContain(`- "${FILE}": you have read it, task ${below} "help" has written it.`);
    expect(await call(PARENT)).toBe(NOTHING);
  });
});

describe("an agent whose call may say nothing, since a program reads its output,", () => {
  test("is told with its next one, of tasks that have ended by then, too", async () => {
    const [writer, reader] = [await stage.launch({ wake: "all" }), await stage.launch({ wake: "all" })];
    void stage.call("output", { task_id: writer, block: true }, { callID: "call_w" });
    await call(reader, reading());
    await call(writer, writing());
    await finish(writer);
    expect(stage.engine.onToolCallEnded({ sessionID: PARENT, effect: undefined, mayAdd: false })).toBe(NOTHING);
    expect(await call(PARENT)).toContain(FILE);
    expect(await call(PARENT)).toBe(NOTHING);
  });
});

describe("nothing is said", () => {
  test("of a file that two only read, nor of one that an agent reads after the other has written it", async () => {
    const [one, other] = [await stage.launch(), await stage.launch()];
    await call(one, reading());
    expect(await call(other, reading())).toBe(NOTHING);
    await call(one, writing("/project/b.ts"));
    expect(await call(other, reading("/project/b.ts"))).toBe(NOTHING);
    expect(overlapsOf(one)).toBeUndefined();
  });

  test("of what a task used that has ended", async () => {
    const [ended, writer] = [await stage.launch(), await stage.launch()];
    await call(ended, writing());
    await finish(ended);
    expect(await call(writer, writing())).toBe(NOTHING);
  });

  test("of the session of somebody who launched neither", async () => {
    const writer = await stage.launch();
    await call("ses_stranger", reading());
    expect(await call(writer, writing())).toBe(NOTHING);
    expect(await call("ses_stranger", writing())).toBe(NOTHING);
  });

  test("of an earlier run of the task", async () => {
    const [writer, reader] = [await stage.launch(), await stage.launch()];
    await call(reader, reading());
    await call(writer, writing());
    await finish(writer);
    await clock.advance(5_000);
    await stage.call("task", { resume: writer, prompt: "again" });
    await settled();
    expect(overlapsOf(writer)).toBeUndefined();
    expect(await call(writer, writing())).toContain(FILE);
  });
});

describe("files that a command changed", () => {
  const command = (sessionID: string) =>
    stage.host.emit({ type: "toolCall", sessionID, callID: "call_1", tool: "bash", stage: "begun", input: "1" });
  const changed = (sessionID: string, files = [FILE]) =>
    stage.host.emit({ type: "filesChanged", sessionID, partID: "prt_1", files });

  test("count as written by the agent that ran it", async () => {
    const [writer, reader] = [await stage.launch(), await stage.launch()];
    await call(reader, reading());
    await command(writer);
    await clock.advance(10);
    await changed(writer);
    expect(await call(writer)).toContain(`- "${FILE}": you have written it`);
    expect(await call(reader)).toContain(`- "${FILE}": you have read it`);
  });

  test("do not, where another agent's tool wrote them meanwhile, or the step ran no command", async () => {
    const [one, other] = [await stage.launch(), await stage.launch()];
    await changed(one);
    await command(one);
    await call(other, writing());
    await changed(one);
    expect(await call(one)).toBe(NOTHING);
    expect(overlapsOf(other)).toBeUndefined();
  });
});

test("a command is not blamed for what a task wrote by a tool meanwhile, though that has ended since", async () => {
  const [slow, quick, reader] = [await stage.launch(), await stage.launch(), await stage.launch()];
  await call(reader, reading());
  await stage.host.emit({ type: "toolCall", sessionID: slow, callID: "c", tool: "bash", stage: "begun", input: "1" });
  await call(quick, writing());
  await call(reader);
  await finish(quick);
  await stage.host.emit({ type: "filesChanged", sessionID: slow, partID: "prt_1", files: [FILE] });
  expect(await call(slow)).toBe(NOTHING);
  expect(await call(reader)).toBe(NOTHING);
});

test("who has been told is known to the next process", async () => {
  const [writer, reader] = [await stage.launch(), await stage.launch()];
  await call(reader, reading());
  await call(writer, writing());
  await stage.restart();
  await clock.advance(60_000);
  expect(await call(writer)).toBe(NOTHING);
  expect(await call(reader)).toContain(`- "${FILE}": you have read it`);
  await finish(writer);
  expect(newestNotice()).toContain(`Files shared with other agents: "${FILE}"`);
});

test("what agents used before OpenCode was killed counts afterwards", async () => {
  const [writer, reader] = [await stage.launch(), await stage.launch()];
  const told = { type: "toolCall", sessionID: reader, callID: "call_1", tool: "read" } as const;
  await stage.host.emit({ ...told, stage: "begun", input: FILE });
  await stage.host.emit({ ...told, stage: "stored", effect: reading() });
  await stage.restart();
  await clock.advance(60_000);
  expect(await call(writer, writing())).toContain(`task ${reader} `);
});
