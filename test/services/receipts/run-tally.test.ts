import { describe, expect, test } from "vitest";
import type { FileWrite, HostEvent, ToolCallEffect, ToolCallStage } from "../../../src/machines/host-events.ts";
import { createRunTally } from "../../../src/services/receipts/run-tally.ts";
import { receipt } from "../../fakes/receipt.ts";

const SESSION = "ses_child";

const call = (callID: string, tool: string, stage: ToolCallStage, effect?: ToolCallEffect): HostEvent => ({
  type: "toolCall",
  sessionID: SESSION,
  callID,
  tool,
  stage,
  ...(effect ? { effect } : {}),
});

let calls = 0;
/** A call that has ended, of which the host first says that it began. */
const done = (tool: string, effect?: ToolCallEffect, stage: ToolCallStage = "stored"): HostEvent[] => {
  calls += 1;
  return [call(`call_${calls}`, tool, "begun"), call(`call_${calls}`, tool, stage, effect)];
};

const wrote = (...files: FileWrite[]) => done("edit", { kind: "write", files });
const ran = (command: string, exit?: number) =>
  done("bash", { kind: "command", command, exit, end: exit === undefined ? "timedOut" : "exited" });
const changed = (partID: string, ...files: string[]): HostEvent => ({
  type: "filesChanged",
  sessionID: SESSION,
  partID,
  files,
});
const message = (id: string, createdAt: number, completedAt?: number): HostEvent => ({
  type: "message",
  sessionID: SESSION,
  message: {
    id,
    role: "assistant",
    createdAt,
    completedAt,
    promptID: "msg_1",
    finish: "stop",
    error: undefined,
    isSummary: false,
  },
});

const RUN = {
  index: 0,
  startedAt: 0,
  endedAt: 100_000,
  directory: "/project",
  isWhole: true,
  gate: undefined,
  incomplete: undefined,
};

/** The receipt of a run in which this happened, a second after the other. */
const receiptOf = (...events: HostEvent[]) => {
  const tally = createRunTally();
  for (const [index, event] of events.entries()) tally.onHostEvent(event, index * 1_000);
  return tally.receipt(RUN);
};

test("of a run in which nothing happened says so", () => {
  expect(receiptOf()).toEqual(receipt({ waitedMs: 100_000 }));
});

describe("tool calls", () => {
  test("are counted by tool, the most called first, with those that failed", () => {
    const { tools } = receiptOf(
      ...done("read"),
      ...done("bash", undefined, "failed"),
      ...done("bash"),
      ...done("invalid"),
      call("call_open", "read", "begun"),
      call("call_open_2", "read", "begun"),
    );
    expect(tools).toEqual([
      { tool: "read", calls: 3, failed: 0 },
      { tool: "bash", calls: 2, failed: 1 },
      { tool: "invalid", calls: 1, failed: 1 },
    ]);
  });

  test("count once, however often and late the host reports them", () => {
    const [begun, stored] = ran("npm test", 1) as [HostEvent, HostEvent];
    const { tools, commands } = receiptOf(begun, stored, stored, begun);
    expect(tools).toEqual([{ tool: "bash", calls: 1, failed: 0 }]);
    expect(commands).toEqual([{ command: "npm test", exit: 1, end: "exited", tests: "failed" }]);
  });

  test("of two sessions with the same id are two", () => {
    expect(
      receiptOf(call("call_1", "bash", "begun"), { ...call("call_1", "bash", "begun"), sessionID: "ses_below" }).tools,
    ).toEqual([{ tool: "bash", calls: 2, failed: 0 }]);
  });
});

describe("files", () => {
  test("that tools wrote have the lines of all calls together, and their paths from the directory", () => {
    const { files } = receiptOf(
      ...wrote({ path: "/project/src/a.ts", change: "added", added: 10, removed: 0 }),
      ...wrote({ path: "/project/src/a.ts", change: "changed", added: 2, removed: 3 }),
      ...wrote({ path: "/elsewhere/b.ts", change: "deleted", added: 0, removed: 5 }),
      ...wrote({ path: "/project/..c.ts", change: "changed" }),
    );
    expect(files).toEqual([
      { path: "src/a.ts", change: "added", added: 12, removed: 3 },
      { path: "/elsewhere/b.ts", change: "deleted", added: 0, removed: 5 },
      { path: "..c.ts", change: "changed" },
    ]);
  });

  test("have no count of lines where one of the calls had none", () => {
    const { files } = receiptOf(
      ...wrote({ path: "/project/a.ts", change: "changed", added: 1, removed: 1 }),
      ...wrote({ path: "/project/a.ts", change: "changed" }),
    );
    expect(files).toEqual([{ path: "a.ts", change: "changed" }]);
  });

  test.each([
    ["added", "deleted", "deleted"],
    ["added", "changed", "added"],
    ["changed", "added", "changed"],
    ["deleted", "added", "changed"],
    ["deleted", "deleted", "deleted"],
  ] as const)("that were %s and then %s are %s", (first, second, whole) => {
    const path = "/project/a.ts";
    expect(receiptOf(...wrote({ path, change: first }), ...wrote({ path, change: second })).files).toEqual([
      { path: "a.ts", change: whole },
    ]);
  });

  test("that changed though no tool wrote them are named apart, each once", () => {
    const { otherFiles } = receiptOf(
      ...wrote({ path: "/project/a.ts", change: "changed" }),
      changed("prt_1", "/project/a.ts", "/project/dist/a.js"),
      changed("prt_2", "/project/dist/a.js", "/project/b.ts"),
    );
    expect(otherFiles).toEqual(["dist/a.js", "b.ts"]);
  });

  test("that were read are counted once each", () => {
    const read = (path: string) => done("read", { kind: "read", path });
    expect(receiptOf(...read("/a"), ...read("/b"), ...read("/a")).filesRead).toBe(2);
  });
});

describe("commands", () => {
  test("have their exit codes, and stand on one line", () => {
    expect(receiptOf(...ran("ls\n  -l", 0), ...ran("sleep 900")).commands).toEqual([
      { command: "ls -l", exit: 0, end: "exited" },
      { command: "sleep 900", end: "timedOut" },
    ]);
  });

  test("are cut where they are long", () => {
    const [shown] = receiptOf(...ran(`echo ${"x".repeat(500)}`, 0)).commands;
    expect(shown?.command).toHaveLength(201);
    expect(shown?.command.endsWith("…")).toBe(true);
  });

  test("that are too many are counted; those that run tests are kept", () => {
    const others = Array.from({ length: 60 }, (_, index) => ran(`echo ${index}`, 0));
    const { commands, omitted } = receiptOf(...ran("npm test", 0), ...others.flat());
    expect(commands).toHaveLength(50);
    expect(commands[0]?.command).toBe("npm test");
    expect(commands[1]?.command).toBe("echo 11");
    expect(commands.at(-1)?.command).toBe("echo 59");
    expect(omitted).toEqual({ files: 0, otherFiles: 0, commands: 11 });
  });
});

test("lists of files are cut, and say how many are missing", () => {
  const names = Array.from({ length: 60 }, (_, index) => `/project/${index}.ts`);
  const { files, otherFiles, omitted } = receiptOf(
    ...wrote(...names.map((path) => ({ path, change: "added" }) as const)),
    changed("prt_1", ...names.map((name) => `${name}.js`)),
  );
  expect([files.length, otherFiles.length]).toEqual([50, 50]);
  expect(omitted).toEqual({ files: 10, otherFiles: 10, commands: 0 });
});

test("tokens and cost are those of all steps, each once", () => {
  const step = (partID: string): HostEvent => ({ type: "step", sessionID: SESSION, partID, tokens: 100, cost: 0.1 });
  expect(receiptOf(step("prt_1"), step("prt_2"), step("prt_1"), step("prt_3"))).toMatchObject({
    tokens: 300,
    cost: 0.3,
  });
});

describe("time", () => {
  test("is work while a message is written, and waiting otherwise", () => {
    expect(receiptOf(message("msg_a", 1_000), message("msg_a", 1_000, 11_000), message("msg_b", 20_000))).toMatchObject(
      {
        workedMs: 90_000,
        waitedMs: 10_000,
      },
    );
  });

  test("in which a person is waited for is no work, whatever else is asked meanwhile", () => {
    const asked = (id: string): HostEvent => ({
      type: "asked",
      sessionID: SESSION,
      request: { id, kind: "permission", what: "bash", since: 0 },
    });
    const replied = (requestID: string): HostEvent => ({ type: "replied", sessionID: SESSION, requestID });
    const tally = createRunTally();
    tally.onHostEvent(message("msg_a", 0), 0);
    tally.onHostEvent(asked("per_1"), 10_000);
    tally.onHostEvent(asked("per_2"), 20_000);
    tally.onHostEvent(replied("per_1"), 30_000);
    tally.onHostEvent(replied("per_2"), 40_000);
    tally.onHostEvent(asked("per_3"), 90_000);
    tally.onHostEvent({ type: "idle", sessionID: SESSION }, 95_000);
    expect(tally.receipt(RUN)).toMatchObject({ workedMs: 65_000, waitedMs: 35_000 });
  });
});
