import { expect, test, vi } from "vitest";
import { createProgressLog, createUsageReader } from "../../../src/services/runtime/progress.ts";
import { noProgress, type Overlap } from "../../../src/task.ts";

const at = (ms: number) => new Date(ms).toISOString();
const call = (callID: string, tool = "bash", sessionID = "ses_1") =>
  ({ type: "toolCall", sessionID, callID, tool, stage: "begun" }) as const;
const step = (partID: string, tokens: number, cost: number) =>
  ({ type: "step", sessionID: "ses_1", partID, tokens, cost }) as const;

const counting = () => {
  const log = createProgressLog();
  log.begin("ses_1", 5);
  return log;
};

test("tool calls are counted once each, by name, and the last five are known", () => {
  const log = counting();
  const tools = ["bash", "read", "bash", "edit", "grep", "write"];
  for (const [index, tool] of tools.entries()) {
    for (const stage of ["begun", "stored"] as const)
      log.onHostEvent({ ...call(`call_${index}`, tool), stage }, 10 + index);
  }
  expect(log.of("ses_1")).toEqual({
    ...{ toolCalls: 6, toolCallsByName: { bash: 2, read: 1, edit: 1, grep: 1, write: 1 }, tokens: 0, cost: 0 },
    ...{ lastTools: ["read", "bash", "edit", "grep", "write"], lastUpdate: at(15) },
  });
});

test("a call of a session below counts as the task's, and one of the same id in another session is another call", () => {
  const log = counting();
  log.onHostEvent(call("call_1"), 6);
  log.onHostEvent(call("call_1", "read", "ses_below"), 7, "ses_1");
  log.onHostEvent(call("call_1", "read", "ses_below"), 8, "ses_1");
  expect(log.of("ses_1")).toMatchObject({ toolCalls: 2, lastUpdate: at(8) });
});

test("tokens and costs are counted once for each step", () => {
  const log = counting();
  for (const event of [step("prt_1", 100, 0.5), step("prt_1", 100, 0.5), step("prt_2", 20, 0.25)])
    log.onHostEvent(event, 6);
  expect(log.usageOf("ses_1")).toEqual({ tokens: 120, cost: 0.75 });
  expect(log.of("ses_1")).toMatchObject({ tokens: 120, cost: 0.75, toolCalls: 0 });
});

test("a child is counted on top of what it did before, and what was handed over is not changed", () => {
  const log = createProgressLog();
  const before = { ...noProgress(at(1)), toolCalls: 1, toolCallsByName: { bash: 1 }, lastTools: ["bash"], tokens: 7 };
  log.begin("ses_1", 5, before);
  expect(log.of("ses_1")).toEqual({ ...before, lastUpdate: at(5) });
  log.onHostEvent(call("call_1"), 6);
  expect(log.of("ses_1")).toMatchObject({ toolCalls: 2, toolCallsByName: { bash: 2 }, lastTools: ["bash", "bash"] });
  expect(before.toolCallsByName).toEqual({ bash: 1 });
  const seen = log.of("ses_1");
  log.onHostEvent(call("call_2"), 7);
  expect(seen?.toolCallsByName).toEqual({ bash: 2 });
});

test("a child is heard of with any event of its own, and nothing is counted of one that is not", () => {
  const log = counting();
  expect(log.heardAt("ses_1")).toBe(5);
  log.onHostEvent({ type: "idle", sessionID: "ses_1" }, 9);
  log.onHostEvent(call("call_1", "bash", "ses_2"), 10);
  expect([log.heardAt("ses_1"), log.heardAt("ses_2"), log.of("ses_2"), log.usageOf("ses_2")]).toEqual([
    9,
    undefined,
    undefined,
    undefined,
  ]);
});

test("those that did something since the last time are given out once", () => {
  const log = counting();
  log.begin("ses_2", 5);
  expect(log.takeChanged().size).toBe(0);
  log.onHostEvent(call("call_1"), 6);
  expect([...log.takeChanged()]).toEqual([["ses_1", log.of("ses_1")]]);
  expect(log.takeChanged().size).toBe(0);
  log.onHostEvent(call("call_2"), 7);
  log.forget("ses_1");
  expect(log.takeChanged().size).toBe(0);
  expect(log.of("ses_1")).toBeUndefined();
});

test("what another server has counted takes the place of what was counted before", () => {
  const log = counting();
  log.onHostEvent(call("call_1"), 6);
  log.takeChanged();
  const counted = { toolCalls: 4, toolCallsByName: { read: 4 }, lastTools: ["read"], tokens: 9, cost: 0.5 };
  log.replace("ses_1", counted, 8);
  expect(log.of("ses_1")).toEqual({ ...counted, lastUpdate: at(8) });
  expect([...log.takeChanged().keys()]).toEqual(["ses_1"]);
  log.onHostEvent(call("call_2"), 9);
  expect(counted.toolCallsByName).toEqual({ read: 4 });
  log.replace("ses_2", counted, 8);
  expect([log.of("ses_2"), log.takeChanged().size]).toEqual([undefined, 1]);
});

const overlap = (path: string, other = "ses_other", untold: Overlap["untold"] = ["agent", "caller"]): Overlap => ({
  ...{ path, at: at(6), did: "read", untold },
  other: { sessionID: other, did: "wrote" },
});

test("an overlap is noted once for each file and other task, and given out as a change", () => {
  const log = counting();
  const notes = [overlap("a.ts"), overlap("a.ts"), overlap("a.ts", "ses_third"), overlap("b.ts")];
  expect(notes.map((note) => log.addOverlap("ses_1", note))).toEqual([true, false, true, true]);
  expect(log.of("ses_1")?.overlaps).toEqual([notes[0], notes[2], notes[3]]);
  expect([...log.takeChanged().keys()]).toEqual(["ses_1"]);
  expect(log.addOverlap("ses_2", overlap("a.ts"))).toBe(false);
  expect(log.addOverlap("ses_1", overlap("b.ts"))).toBe(false);
  expect(log.takeChanged().size).toBe(0);
});

test("of a run fifty overlaps are kept", () => {
  const log = counting();
  const added = Array.from({ length: 52 }, (_, n) => log.addOverlap("ses_1", overlap(`${n}.ts`)));
  expect(added.filter(Boolean)).toHaveLength(50);
  expect(log.of("ses_1")?.overlaps).toHaveLength(50);
});

test("each overlap is taken once by each of those that are to be told", () => {
  const log = counting();
  expect(log.takeUntold("ses_1", "agent")).toEqual([]);
  log.addOverlap("ses_1", overlap("a.ts"));
  log.addOverlap("ses_1", overlap("b.ts", "ses_other", ["caller"]));
  log.takeChanged();
  expect(log.takeUntold("ses_1", "agent").map(({ path }) => path)).toEqual(["a.ts"]);
  expect([...log.takeChanged().keys()]).toEqual(["ses_1"]);
  expect(log.takeUntold("ses_1", "agent")).toEqual([]);
  expect(log.takeChanged().size).toBe(0);
  expect(log.takeUntold("ses_1", "caller").map(({ path }) => path)).toEqual(["a.ts", "b.ts"]);
  expect(log.of("ses_1")?.overlaps?.map(({ untold }) => untold)).toEqual([[], []]);
  expect([log.takeUntold("ses_2", "agent"), log.takeChanged().size]).toEqual([[], 1]);
});

test("what was observed of a run begins anew with the next one", () => {
  const log = counting();
  const first = log.runOf("ses_1");
  expect(first).toBeDefined();
  expect(log.runOf("ses_1")).toBe(first);
  const heard = vi.spyOn(first ?? { onHostEvent: () => undefined }, "onHostEvent");
  log.onHostEvent(call("call_1"), 6);
  expect(heard).toHaveBeenCalledWith(call("call_1"), 6);
  log.begin("ses_1", 9);
  expect(log.runOf("ses_1")).not.toBe(first);
  expect(log.runOf("ses_2")).toBeUndefined();
});

test("what a task has used is as it is counted now where it works here, else as it is stored, and with all below it", () => {
  const log = counting();
  log.onHostEvent(step("prt_1", 100, 0.5), 6);
  const counted = (sessionID: string) => ({ sessionID, ownUsage: { tokens: 7, cost: 0.25 } });
  const below = [{ ...counted("ses_2"), parentTaskId: "ses_1", launchedAt: 1 }];
  const asked: (readonly string[])[] = [];
  const reader = createUsageReader(
    {
      below: (ids) => {
        asked.push(ids);
        return below;
      },
    },
    log,
  );
  const usageOf = reader.usageOf(["ses_1", "ses_2"].map(counted));
  expect(["ses_1", "ses_2"].map((id) => usageOf(counted(id)))).toEqual([
    { tokens: 107, cost: 0.75 },
    { tokens: 7, cost: 0.25 },
  ]);
  expect(asked).toEqual([["ses_1", "ses_2"]]);
  expect(reader.usageOf([counted("ses_1")], [])(counted("ses_1"))).toEqual({ tokens: 100, cost: 0.5 });
  expect(asked).toHaveLength(1);
});
