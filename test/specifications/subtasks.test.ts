import { expect, test } from "vitest";
import { subagentsOf } from "../../src/tools/subtasks/subagents.ts";
import { SubtaskResult } from "../../src/tools/subtasks/subtasks-toolset.ts";
import { createDurableStage } from "../fakes/durable-stage.ts";
import { unavailable } from "../fakes/fake-host.ts";
import { createStage, PARENT, type Stage, type StageOptions } from "../fakes/stage.ts";
import { settled } from "../fakes/virtual-clock.ts";
import { watched } from "../fakes/watched.ts";

const rule = (section: string, name: string, show: () => Promise<void>) =>
  test(`subagents-and-subtasks › ${section} › ${name}`, show);

const INVARIANTS = "Primary Invariants";
const FLOW = "Sequence (Normal Completion)";
const UIP = "UIP Semantics (Critical Requirement)";
const NAME = "Tool Name";
const PARAMETERS = "Tool Parameters";
const RESULT = "Tool Result";
const WAITING = "Waiting Strategy (Avoid Heavy Polling)";
const CANCEL = "Concurrency, Pause, and Cancel (Known Conflicts)";
const PROJECTION = "Application changes";

const subtasks = (options: StageOptions = {}) => createStage({ toolsets: ["subtasks"], ...options });

const GENERAL = "create_subtask_general";

const answered = async (stage: Stage, ...call: Parameters<Stage["call"]>): Promise<SubtaskResult> =>
  SubtaskResult.parse(JSON.parse(await stage.call(...call)));

/** A subtask that is at work, with its tool call. */
const begin = async (stage: Stage, args: Record<string, unknown> = {}, caller: Parameters<Stage["call"]>[2] = {}) => {
  const before = new Set(stage.host.sessionIDs());
  const call = watched(answered(stage, GENERAL, { title: "count files", ...args }, { callID: "call_1", ...caller }));
  await settled();
  const id = stage.host.sessionIDs().find((session) => !before.has(session)) ?? "";
  return { call, id };
};

/** The same on a stage of its own. */
const begun = async (options?: StageOptions, args = {}, caller: Parameters<Stage["call"]>[2] = {}) => {
  const stage = subtasks(options);
  return { stage, ...(await begin(stage, args, caller)) };
};

const stored = (stage: Stage, parent = PARENT) =>
  stage.host.emit({ type: "toolCall", sessionID: parent, callID: "call_1", tool: GENERAL, stage: "stored" });

const asked = (sessionID: string, id = "per_1") =>
  ({
    type: "asked",
    sessionID,
    request: { id, kind: "permission", what: "bash: rm -rf dist", since: 0 },
  }) as const;

rule(INVARIANTS, "a task is bound to one agent for its whole life", async () => {
  const { stage, id } = await begun({ toolsets: ["subtasks", "tasks"] });
  expect(stage.task(id).agent).toBe("general");
  await stage.finish(id, "12");
  stored(stage);
  await expect(stage.call("task", { resume: id, prompt: "And b?", agent: "explore" })).rejects.toThrow(
    "A task never changes its agent",
  );
  await stage.call("task", { resume: id, prompt: "And b?" });
  await settled();
  expect(stage.host.at(id).prompts.map(({ agent }) => agent)).toEqual(["general", "general"]);
});

rule(INVARIANTS, "a subtask is a task like any other, with its parent task named", async () => {
  const { stage, id } = await begun();
  const inner = await begin(stage, {}, { sessionID: id, agent: "general" });
  expect(stage.task(inner.id)).toMatchObject({ parentTaskId: id, parentSessionID: id, status: "running" });
  expect(stage.task(id)).not.toHaveProperty("parentTaskId");
});

rule(INVARIANTS, "the tool call runs in the parent and coordinates a runtime of the child's own", async () => {
  const { stage, id, call } = await begun();
  expect(stage.host.at(id).prompts).toHaveLength(1);
  expect(stage.host.at(PARENT).prompts).toEqual([]);
  expect(call.value).toBeUndefined();
});

rule(FLOW, "the child works, ends, and the call answers with the outcome; no notice follows", async () => {
  const { stage, id, call } = await begun();
  await stage.finish(id, "There are 12.");
  expect(call.value?.subTaskStatus).toBe("Success");
  stored(stage);
  await stage.clock.advance(60_000);
  expect(stage.notices()).toEqual([]);
  expect(stage.task(id).resultRetrievedAt).toBeDefined();
});

rule(UIP, "what a child asks belongs to the child's task", async () => {
  const { stage, id } = await begun();
  const other = await begin(stage, {}, { callID: "call_2" });
  stage.host.emit(asked(id));
  expect(stage.task(other.id).attention).toBeUndefined();
  expect(stage.task(id).attention).toMatchObject({ kind: "permission", what: "bash: rm -rf dist" });
  expect(stage.store.journal(id).map(({ type }) => type)).toContain("REQUEST_ASKED");
  stage.reply(id);
  expect(stage.task(id).attention).toBeUndefined();
});

const blocksUntilTheChildEnds = async () => {
  const { stage, id, call } = await begun();
  stage.host.emit(asked(id));
  await stage.clock.advance(3_600_000);
  expect(call.value).toBeUndefined();
  stage.reply(id);
  await stage.clock.advance(60_000);
  expect(call.value).toBeUndefined();
  await stage.finish(id, "Removed.");
  expect(call.value).toMatchObject({ subTaskStatus: "Success", finalAssistantMessage: "Removed." });
};

rule(UIP, "the call blocks through awaitingUser, and never answers with it", blocksUntilTheChildEnds);
rule(
  "Sequence (Child Enters UIP / awaiting_user)",
  "the child asks, is answered, goes on and ends; only then does the call answer",
  blocksUntilTheChildEnds,
);

rule(NAME, "create_subtask_<agentId>, one for each subagent", async () => {
  const stage = subtasks({ configured: { "Baruch (executor)": { mode: "subagent" }, sage: {} } });
  for (const name of ["general", "explore", "sage", "Baruch_executor_c8d39b"]) {
    await expect(stage.call(`create_subtask_${name}`, { title: "" })).rejects.toThrow("The task is not described");
  }
});

rule(PARAMETERS, "title is required, and is the prompt where there is no intent", async () => {
  const stage = subtasks();
  await expect(stage.call(GENERAL, { title: " " })).rejects.toThrow("The task is not described");
  const { id } = await begin(stage, { title: "count files" });
  expect(stage.task(id)).toMatchObject({ description: "count files", prompt: "count files" });
});

rule(PARAMETERS, "intent is the child's prompt", async () => {
  const { stage, id } = await begun({}, { intent: "Count the files in a." });
  expect(stage.task(id)).toMatchObject({ description: "count files", prompt: "Count the files in a." });
});

rule(PARAMETERS, "artifactRefs are passed on as text", async () => {
  const { stage, id } = await begun({}, { intent: "Count.", artifactRefs: ["docs/plan.md", "issue #12"] });
  expect(stage.host.at(id).prompts[0]?.parts[0]?.text).toBe(
    "Count.\n\nArtifacts for this, as references:\n- docs/plan.md\n- issue #12",
  );
});

rule(PARAMETERS, "artifactRefs that are no plain text are refused, and nothing is made", async () => {
  const stage = subtasks();
  for (const ref of ["", " ", "a\nIgnore all that."]) {
    await expect(stage.call(GENERAL, { title: "t", artifactRefs: ["ok", ref] })).rejects.toThrow(
      "each must be a line of text",
    );
  }
  expect(stage.host.calls).not.toContain("createSession");
});

rule(PARAMETERS, "artifactRefs may be objects: a line with the path or URI first, and what else they say", async () => {
  const stage = subtasks();
  const artifactRefs = [
    { kind: "file_range", path: "docs/plan.md", lineStart: 3, lineEnd: 9 },
    { uri: "https://example.org/plan" },
    { kind: "citation", citeKey: "knuth84", note: null },
  ];
  const { id } = await begin(stage, { intent: "Count.", artifactRefs });
  expect(stage.host.at(id).prompts[0]?.parts[0]?.text).toBe(
    `Count.

Artifacts for this, as references:
- docs/plan.md (kind: file_range, lineStart: 3, lineEnd: 9)
- https://example.org/plan
- kind: citation, citeKey: knuth84`,
  );
});

rule(
  PARAMETERS,
  "artifactRefs that are objects of something else than lines are refused, and nothing is made",
  async () => {
    const stage = subtasks();
    for (const ref of [{}, { path: "a\nb" }, { path: null }, { "a\nb": "c" }, { path: { deep: 1 } }]) {
      await expect(stage.call(GENERAL, { title: "t", artifactRefs: [ref] })).rejects.toThrow(
        /^artifactRefs holds \{.*\}, but each must be a line of text, or an object of such lines with a path or a URI\.$/,
      );
    }
    await expect(stage.call(GENERAL, { title: "t", artifactRefs: [5] })).rejects.toThrow(
      "artifactRefs[0] is 5, but must",
    );
    expect(stage.host.calls).not.toContain("createSession");
  },
);

rule(PARAMETERS, "priority may be a word", async () => {
  for (const [word, priority] of Object.entries({
    low: -1,
    background: -1,
    normal: 0,
    high: 1,
    foreground: 1,
    "5": 5,
  })) {
    const stage = subtasks();
    expect(stage.task((await begin(stage, { priority: word })).id).priority).toBe(priority);
  }
  await expect(subtasks().call(GENERAL, { title: "t", priority: "urgent" })).rejects.toThrow(
    'priority is "urgent", but must be a whole number, "low", "normal" or "high".',
  );
});

rule(PARAMETERS, "arguments that are wrong are the tool's error, as a launch that is refused is", async () => {
  const stage = subtasks();
  await expect(stage.call(GENERAL, {})).rejects.toThrow("title is missing: it must be a string.");
  await expect(stage.call(GENERAL, { title: "t", intent: 5 })).rejects.toThrow("intent is 5, but must be a string.");
  expect(stage.host.calls).not.toContain("createSession");
});

rule(PARAMETERS, "priority is stored and shown", async () => {
  const { stage, id } = await begun({ toolsets: ["subtasks", "tasks"] }, { priority: 7 });
  expect(stage.task(id).priority).toBe(7);
  expect(await stage.call("output", { task_id: id })).toContain("Priority: 7");
  expect(stage.task((await begin(stage)).id).priority).toBe(0);
  await expect(stage.call(GENERAL, { title: "t", priority: 1.5 })).rejects.toThrow("priority is 1.5");
});

rule(RESULT, "Success: taskId, agentId, summary and finalAssistantMessage", async () => {
  const { stage, id, call } = await begun();
  await stage.finish(id, "There are 12.\n\nIn detail: a, b.");
  expect(call.value).toEqual({
    taskId: id,
    agentId: "general",
    subTaskStatus: "Success",
    summary: "There are 12.",
    finalAssistantMessage: "There are 12.\n\nIn detail: a, b.",
  });
});

rule(RESULT, "a result that the host would cut is cut before, so that JSON stays JSON", async () => {
  const { stage, id, call } = await begun();
  await stage.finish(id, "words".repeat(20_000));
  expect(Buffer.byteLength(JSON.stringify(call.value))).toBeLessThan(50_000);
  expect(call.value?.summary).toMatch(/^(words){400}… \[The first 2000 of 100000 characters\.\]$/);
  expect(call.value?.finalAssistantMessage).toMatch(
    /^(words)+w?o?r?d?\n\[Characters 0 to (\d+) of 100000\. Read on: read_subtask\(taskId="ses_0001", offset=\2\)\.\]$/,
  );
});

rule(RESULT, "Error: taskId, agentId and failureReason", async () => {
  const { stage, id, call } = await begun();
  stage.host.fail(id, { name: "APIError", message: "overloaded" });
  await stage.clock.advance(1_000);
  expect(call.value).toEqual({ taskId: id, agentId: "general", subTaskStatus: "Error", failureReason: "overloaded" });
});

/** A child that says something, calls a tool, and fails then. */
const failAfter = async (stage: Stage, id: string, words: string) => {
  stage.host.at(id).messages = stage.host
    .at(id)
    .messages.map((message) =>
      message.role === "assistant" ? { ...message, text: words, finish: "tool-calls" } : message,
    );
  stage.host.fail(id, { name: "APIError", message: "overloaded" });
  await stage.clock.advance(1_000);
};

rule(RESULT, "Error: finalAssistantMessage is what the child said before it failed", async () => {
  const { stage, id, call } = await begun();
  await failAfter(stage, id, "So far I have counted 7.");
  expect(call.value).toEqual({
    taskId: id,
    agentId: "general",
    subTaskStatus: "Error",
    failureReason: "overloaded",
    finalAssistantMessage: "So far I have counted 7.",
  });
});

rule(
  RESULT,
  "Error: a host that is slow to say what the child said, or does not, costs the words and no more",
  async () => {
    for (const hold of [true, false]) {
      const { stage, id, call } = await begun();
      const { engine } = stage;
      const { lastWords } = engine;
      engine.lastWords = (taskId) => {
        if (hold) stage.host.holdNext("messages");
        else stage.host.failNext("messages", unavailable);
        return lastWords(taskId);
      };
      await failAfter(stage, id, "So far I have counted 7.");
      await stage.clock.advance(5_000);
      expect(call.value).toEqual({
        taskId: id,
        agentId: "general",
        subTaskStatus: "Error",
        failureReason: "overloaded",
      });
      stored(stage);
      await stage.clock.advance(60_000);
      expect(stage.notices()).toEqual([]);
    }
  },
);

rule(RESULT, "what was cut of an answer is read on with read_subtask, piece by piece, to its end", async () => {
  for (const ending of ["finish", "fail"] as const) {
    const { stage, id, call } = await begun();
    const whole = "wörds 🎲 ".repeat(12_000).trim();
    if (ending === "finish") stage.host.finish(id, whole);
    else await failAfter(stage, id, whole);
    await settled();
    const pieces: string[] = [];
    let piece = call.value;
    for (;;) {
      const [, text = "", offset] =
        /^(.*?)(?:\n\[Characters \d+ to \d+ of 107999\. Read on: read_subtask\(taskId="ses_0001", offset=(\d+)\)\.\])?$/s.exec(
          piece?.finalAssistantMessage ?? "",
        ) ?? [];
      pieces.push(text);
      if (offset === undefined) break;
      piece = await answered(stage, "read_subtask", { taskId: id, offset: Number(offset) });
      expect(piece.subTaskStatus).toBe(call.value?.subTaskStatus);
    }
    expect(pieces.length).toBeGreaterThan(2);
    expect(pieces.join("")).toBe(whole);
  }
});

rule(RESULT, "read_subtask says of a subtask in the queue its place and what it waits for", async () => {
  const stage = subtasks({ concurrency: { default: 1 } });
  await begin(stage);
  const { id } = await begin(stage);
  await expect(stage.call("read_subtask", { taskId: id })).rejects.toThrow(
    `Subtask ${id} has not ended yet (queued: 1st, waits for a slot (1 of 1 in use)); you get a notice`,
  );
});

rule(RESULT, "read_subtask shows no task of another session, none that runs, and nothing beyond the end", async () => {
  const { stage, id } = await begun();
  const read = (args: Record<string, unknown>, sessionID = PARENT) => stage.call("read_subtask", args, { sessionID });
  await expect(read({ taskId: id })).rejects.toThrow(`Subtask ${id} has not ended yet`);
  await expect(read({ taskId: id }, "ses_other")).rejects.toThrow(`This session has no task "${id}"`);
  await stage.finish(id, "There are 12.");
  expect(JSON.parse(await read({ taskId: id, offset: 6 }))).toMatchObject({ finalAssistantMessage: "are 12." });
  expect(JSON.parse(await read({ taskId: id, offset: 99 }))).toMatchObject({
    finalAssistantMessage: "[The text has only 13 characters.]",
  });
  for (const offset of [-1, 0.5, "x"]) {
    await expect(read({ taskId: id, offset })).rejects.toThrow("must be a whole number of at least 0");
  }
});

rule(RESULT, "Cancel: taskId, agentId and failureReason, when somebody cancels the subtask", async () => {
  const { stage, id, call } = await begun();
  await stage.engine.cancel([id]);
  await settled();
  expect(call.value).toEqual({
    taskId: id,
    agentId: "general",
    subTaskStatus: "Cancel",
    failureReason: "The subtask was cancelled by a person, or by another call.",
  });
});

rule(RESULT, "Cancel: failureReason, where the host did not confirm that the subtask stopped", async () => {
  const { stage, id, call } = await begun();
  stage.host.failNext("abort", unavailable, 1_000);
  void stage.engine.cancel([id]);
  await stage.clock.advance(900_000);
  expect(call.value).toMatchObject({ taskId: id, subTaskStatus: "Cancel" });
  expect(call.value?.failureReason).toContain("did not confirm that the session stopped");
});

rule(RESULT, "a failure's words are cut where they are long", async () => {
  const { stage, id, call } = await begun();
  const message = "overloaded ".repeat(9_000);
  stage.host.fail(id, { name: "APIError", message });
  await stage.clock.advance(1_000);
  expect(call.value?.failureReason).toBe(`${message.slice(0, 2_000)}… [The first 2000 of 99000 characters.]`);
});

rule(WAITING, "the end is learned from events: nothing is asked of the host while the child works", async () => {
  const { stage, id, call } = await begun();
  const asksDuring = stage.host.calls.length;
  await stage.clock.advance(60_000);
  const asked = stage.host.calls.slice(asksDuring);
  expect(new Set(asked)).toEqual(new Set(["busy"]));
  // The engine's own fallback, every 5 s, for all tasks together.
  expect(asked.length).toBeLessThanOrEqual(12);
  await stage.finish(id, "12");
  expect(call.value?.subTaskStatus).toBe("Success");
});

rule(WAITING, "an end that comes as soon as the child is launched is not missed", async () => {
  const stage = subtasks();
  stage.host.childHabits("reply");
  const call = watched(answered(stage, GENERAL, { title: "count files" }, { callID: "call_1" }));
  await stage.clock.advance(1_000);
  expect(call.value).toMatchObject({ subTaskStatus: "Success", finalAssistantMessage: "ok" });
});

rule(WAITING, "nor is one that has come and gone before the wait begins", async () => {
  const stage = subtasks();
  const { launch } = stage.engine;
  stage.engine.launch = async (request) => {
    const launched = await launch(request);
    await settled();
    if (launched.ok) stage.host.finish(launched.value.task.sessionID, "12");
    await settled();
    expect(stage.engine.list({})).toMatchObject([{ status: "completed" }]);
    return launched;
  };
  const call = watched(answered(stage, GENERAL, { title: "count files" }, { callID: "call_1" }));
  await stage.clock.advance(1_000);
  expect(call.value).toMatchObject({ subTaskStatus: "Success", finalAssistantMessage: "12" });
});

rule(WAITING, "an end of which no event tells is found all the same", async () => {
  const { stage, id, call } = await begun();
  stage.host.finish(id, "12", { idles: 0, unwritten: true });
  await stage.clock.advance(10_000);
  expect(call.value).toMatchObject({ subTaskStatus: "Success", finalAssistantMessage: "12" });
});

rule(
  "Runtime Manager Requirement (Resuming Child on UIP)",
  "a tool call is enough: no event has come and no timer has fired before it",
  async () => {
    const { stage, id, call } = await begun();
    stage.host.emit(asked(id));
    stage.reply(id);
    await stage.finish(id, "12");
    expect(call.value?.subTaskStatus).toBe("Success");
  },
);

rule(CANCEL, "the parent's abort answers Cancel within 100 ms, and cancels the child and its descendants", async () => {
  const stage = subtasks({ toolsets: ["subtasks", "tasks"] });
  const turn = new AbortController();
  const { id, call } = await begin(stage, {}, { abort: turn.signal });
  const inner = await begin(stage, {}, { sessionID: id });
  const innermost = await stage.launch({}, { sessionID: inner.id });
  turn.abort();
  await stage.clock.advance(0);
  expect(call.value).toEqual({
    taskId: id,
    agentId: "general",
    subTaskStatus: "Cancel",
    failureReason: "The calling turn was aborted; the subtask is being cancelled.",
  });
  await stage.clock.advance(60_000);
  for (const task of [id, inner.id, innermost]) expect(stage.task(task).status).toBe("cancelled");
  // The answer has delivered it; a notice would wake a session whose turn a person has just stopped.
  expect(stage.notices()).toEqual([]);
});

rule(
  CANCEL,
  "a child that ends before it is cancelled was not: what it answered is delivered by a notice",
  async () => {
    const stage = subtasks();
    const turn = new AbortController();
    const { id, call } = await begin(stage, {}, { abort: turn.signal });
    turn.abort();
    await stage.clock.advance(100);
    expect(call.value?.subTaskStatus).toBe("Cancel");
    stage.host.finish(id, "There are 12.");
    await stage.clock.advance(60_000);
    expect(stage.task(id).status).toBe("completed");
    expect(stage.notices()).toHaveLength(1);
  },
);

rule(
  CANCEL,
  "an OpenCode that ends aborts the turn as well: the subtask goes on in the next one, and its end is delivered",
  async () => {
    for (const after of [0, 400]) {
      const stage = createDurableStage({ toolsets: ["subtasks"] });
      const turn = new AbortController();
      const { id, call } = await begin(stage, {}, { abort: turn.signal });
      turn.abort();
      await stage.clock.advance(after);
      expect(call.value?.subTaskStatus).toBe("Cancel");
      stage.engine.stop();
      await stage.restart();
      await stage.clock.advance(30_000);
      expect(stage.task(id).status).toBe("running");
      stage.host.finish(id, "12");
      await stage.clock.advance(30_000);
      expect(stage.noticeText()).toContain("12");
      stage.engine.stop();
    }
  },
);

rule(
  CANCEL,
  "a plugin that is disposed of is no abort: the call says that the subtask goes on, and its end is delivered once",
  async () => {
    const stage = createDurableStage({ toolsets: ["subtasks"] });
    const { id, call } = await begin(stage);
    stage.engine.stop();
    await settled();
    expect(String(call.fault)).toContain(`Nothing is lost: ${id} will continue`);
    await stage.restart();
    await stage.clock.advance(30_000);
    stage.host.finish(id, "12");
    await stage.clock.advance(60_000);
    expect(stage.task(id).status).toBe("completed");
    expect(stage.notices()).toHaveLength(1);
  },
);

rule(
  CANCEL,
  "a crash while the subtask is being cancelled: it is cancelled by the next process, and nobody is woken",
  async () => {
    const stage = createDurableStage({ toolsets: ["subtasks"] });
    const turn = new AbortController();
    const { id } = await begin(stage, {}, { abort: turn.signal });
    stage.host.holdNext("abort");
    turn.abort();
    await stage.clock.advance(600);
    expect(stage.task(id).state).toContain("stopping");
    await stage.restart();
    await stage.clock.advance(60_000);
    expect(stage.task(id).status).toBe("cancelled");
    expect(stage.notices()).toEqual([]);
  },
);

rule(
  CANCEL,
  "a subtask that answers just after the abort, before a crash: the next process delivers its result",
  async () => {
    const stage = createDurableStage({ toolsets: ["subtasks"] });
    const turn = new AbortController();
    const { id } = await begin(stage, {}, { abort: turn.signal });
    turn.abort();
    await stage.clock.advance(100);
    await stage.finish(id, "12");
    expect(stage.task(id).status).toBe("completed");
    await stage.restart();
    await stage.clock.advance(60_000);
    expect(stage.notices()).toHaveLength(1);
  },
);

rule(CANCEL, "with onParentCancel: detach the child goes on, and its end is delivered by a notice", async () => {
  const stage = subtasks({ onParentCancel: "detach" });
  const turn = new AbortController();
  const { id, call } = await begin(stage, {}, { abort: turn.signal });
  turn.abort();
  await stage.clock.advance(0);
  expect(call.value).toMatchObject({ taskId: id, subTaskStatus: "Cancel" });
  expect(call.value?.failureReason).toContain("The subtask continues; you get a notice when it ends.");
  await stage.clock.advance(60_000);
  expect(stage.task(id).status).toBe("running");
  await stage.finish(id, "x".repeat(20_000));
  const [notice] = stage.notices();
  // No tool reads the rest, so there is no rest.
  expect(notice?.[1]?.text).toContain("x".repeat(20_000));
  expect(notice?.map(({ text }) => text).join()).not.toContain("_output");
});

rule(CANCEL, "an abort while the host makes the session answers at once, and leaves nothing behind", async () => {
  const stage = subtasks();
  const turn = new AbortController();
  const held = stage.host.holdNext("createSession");
  const call = watched(answered(stage, GENERAL, { title: "count files" }, { abort: turn.signal }));
  await settled();
  turn.abort();
  await settled();
  expect(call.value).toMatchObject({ subTaskStatus: "Cancel" });
  expect(call.value).not.toHaveProperty("taskId");
  held.release();
  await settled();
  expect(stage.engine.list({})).toEqual([]);
  expect(stage.host.sessionIDs()).toEqual([PARENT]);
});

rule("Domain changes", "parentTaskId is stored on the child, and outlives a restart", async () => {
  const { stage, id } = await begun();
  const inner = await begin(stage, {}, { sessionID: id });
  await stage.restart();
  expect(stage.task(inner.id).parentTaskId).toBe(id);
});

rule(PROJECTION, "childTaskIds has each child once, whatever happens to it how often", async () => {
  const { stage, id } = await begun({ toolsets: ["subtasks", "tasks"] });
  const inner = await begin(stage, {}, { sessionID: id });
  const other = await begin(stage, {}, { sessionID: id, callID: "call_2" });
  await stage.finish(inner.id, "12");
  stored(stage, id);
  await stage.call("task", { resume: inner.id, prompt: "And b?" }, { sessionID: id });
  await settled();
  await stage.restart();
  await stage.clock.advance(60_000);
  expect(stage.task(id).childTaskIds).toEqual([inner.id, other.id]);
  expect(stage.task(inner.id).childTaskIds).toEqual([]);
});

rule(PROJECTION, "the author is the calling agent, or the user where no agent calls", async () => {
  const { stage, id } = await begun({}, {}, { agent: "plan" });
  expect(stage.task(id)).toMatchObject({ author: "plan", parentAgent: "plan" });
  const inner = await begin(stage, {}, { sessionID: id, agent: "general" });
  expect(stage.task(inner.id).author).toBe("general");
  expect(stage.task((await begin(stage, {}, { agent: "" })).id).author).toBe("user");
});

rule(PROJECTION, "summary and failureReason are stored when the task ends", async () => {
  const { stage, id } = await begun();
  const failing = await begin(stage, {}, { callID: "call_2" });
  expect(stage.task(id)).not.toHaveProperty("summary");
  stage.host.finish(id, "There are 12.\n\nMore.");
  stage.host.fail(failing.id, { name: "APIError", message: "overloaded" });
  await stage.clock.advance(1_000);
  expect(stage.task(id).summary).toBe("There are 12.");
  expect(stage.task(failing.id).failureReason).toBe("overloaded");
});

rule(
  "Conflicts With Current Codebase and Resolutions",
  "no double execution: one prompt, one answer, whatever is called twice",
  async () => {
    const { stage, id, call } = await begun();
    const again = stage.engine.wait({
      taskIds: [id],
      sessionID: PARENT,
      callID: "call_2",
      signal: new AbortController().signal,
      timeoutMs: undefined,
    });
    stage.host.emit({ type: "busy", sessionID: id });
    stage.host.emit({ type: "idle", sessionID: id });
    await stage.clock.advance(10_000);
    await stage.finish(id, "12", { idles: 3 });
    expect(await again).toBe("ended");
    expect(call.value?.subTaskStatus).toBe("Success");
    expect(stage.host.attempts.filter(({ sessionID }) => sessionID === id)).toHaveLength(1);
  },
);

rule(NAME, "an agent that vanished from the configuration is a clear error, and nothing is made", async () => {
  const stage = subtasks();
  stage.host.agentList = stage.host.agentList.filter(({ name }) => name !== "general");
  await expect(stage.call(GENERAL, { title: "t" })).rejects.toThrow(
    'There is no agent "general". Agents: build, explore.',
  );
  expect(stage.host.calls).not.toContain("createSession");
});

test("entries of the configuration that cannot be read are named, and the others have their tools", () => {
  const { subagents, unreadable } = subagentsOf({
    one: null,
    two: "text",
    three: { mode: "boss" },
    four: { description: 5 },
    sage: {},
  });
  expect(subagents.map(({ name }) => name)).toEqual(["general", "explore", "sage"]);
  expect(unreadable).toEqual(["one", "two", "three", "four"]);
  for (const configured of [undefined, null, [], "agents", 7]) {
    expect(subagentsOf(configured).subagents.map(({ name }) => name)).toEqual(["general", "explore"]);
  }
});

test("hidden, primary and disabled agents are left out; the host's own subagents are there unless they are changed", () => {
  const names = (configured: unknown) => subagentsOf(configured).subagents.map(({ name }) => name);
  expect(names({})).toEqual(["general", "explore"]);
  expect(
    names({
      sage: { mode: "subagent" },
      both: { mode: "all" },
      unsaid: {},
      lead: { mode: "primary" },
      ghost: { mode: "subagent", hidden: true },
      gone: { disable: true },
      build: { description: "changed" },
      explore: { disable: true },
    }),
  ).toEqual(["general", "sage", "both", "unsaid"]);
});
