import { describe, expect, test } from "vitest";
import type { TaskError } from "../../../src/task.ts";
import { type Answers, afterText, nextStep } from "../../../src/tui/model/answer-steps.ts";
import { actionFor, planFor, refusalOf, requestsOf } from "../../../src/tui/model/list-state.ts";
import { modelChoices, SAME_MODEL } from "../../../src/tui/model/model-choices.ts";
import { changesQuestion, noChanges, stopQuestion, stopsWith, whyText } from "../../../src/tui/model/panel-messages.ts";
import { readPanelOptions } from "../../../src/tui/screen/panel.ts";
import type { OpenUserRequest } from "../../../src/user-request.ts";
import { ago, asking, ended, NOW, panelTask } from "./panel-tasks.ts";

const WORKTREE = { id: "1", directory: "/data/1/tree", isShared: false };

test("of a task that ran on another server, the explanation says where", () => {
  const task = ended(panelTask("a", { server: { id: "srv_1", label: "desk" }, summary: "Found." }), "completed");
  expect(whyText(task, NOW).message).toBe("It is completed. Found.\n\nIt ran on desk, another server of the fleet.");
  expect(whyText(ended(panelTask("a"), "completed"), NOW).message).toBe("It is completed.");
});

test("what became of the instructions of a task is said of one at work, and of one that has ended", () => {
  const given = { text: "only the tests", from: "user" as const, givenAt: ago(20) };
  const atWork = panelTask("a", { instructions: [{ ...given, fate: "waiting" }], why: "its agent" });
  expect(whyText(atWork, NOW).message).toContain('Instructions: "only the tests" (user): not seen yet.');
  const missed = ended(panelTask("a", { instructions: [{ ...given, fate: "missed" }] }), "cancelled");
  expect(whyText(missed, NOW).message).toContain(
    'It was cancelled.\n\nInstructions: "only the tests" (user): missed. Its agent never saw the instruction',
  );
});

describe("what a task changed in its worktree", () => {
  const task = panelTask("a");
  const changes = { tree: "/shop", worktree: "/data/1/tree", patch: "/data/1/changes.patch" };
  const files = Array.from({ length: 10 }, (_, at) => ({
    ...{ path: `f${at}.ts`, change: "modified" as const, added: 1, removed: 0 },
  }));

  test("is named before it is applied or discarded", () => {
    const message = 'To /shop: all of it, or nothing.\n\n2 files changed (+2 −0)\n"f0.ts" +1 −0\n"f1.ts" +1 −0';
    expect(changesQuestion("apply", [{ task, changes: { ...changes, files: files.slice(0, 2) } }])).toEqual({
      title: 'Apply what "about a" changed?',
      message,
      ...{ keep: "Not now", go: "Apply", diffs: [] },
    });
    const discard = changesQuestion("discard", [{ task, changes: { ...changes, files } }]);
    expect(discard?.title).toBe('Discard what "about a" changed?');
    expect(discard?.message).toMatch(
      /^This removes its worktree; a patch file is kept\.\n\n10 files .*"f7\.ts" \+1 −0\nand 2 more$/s,
    );
  });

  test("of several tasks is asked about once; of those of which there is nothing to ask, nothing is said", () => {
    const of = (name: string, more: object = {}) => ({
      task: panelTask(name),
      changes: { ...changes, files: files.slice(0, 1), diff: `diff of ${name}`, ...more },
    });
    const all = [of("a"), of("b", { became: "applied" as const }), of("c")];
    const question = changesQuestion("apply", all);
    expect(question).toMatchObject({ title: "Apply what 2 tasks changed?", diffs: ["diff of a", "diff of c"] });
    expect(question?.message).toMatch(
      /^To \/shop: one after the other, up to the first that conflicts\.\n\n"about a": 1 file .*\n\n"about c": 1 file/s,
    );
    expect(changesQuestion("discard", all)?.message).toMatch(
      /^This removes their worktrees; a patch file is kept of each/,
    );
  });

  test("is not asked about where nothing is left of it: then it is said why", () => {
    expect(changesQuestion("apply", [{ task, changes: { ...changes, files: [] } }])).toBeUndefined();
    expect(changesQuestion("apply", [{ task, changes: { ...changes, files, became: "applied" } }])).toBeUndefined();
    expect(noChanges({ ...changes, files: [] })).toBe("It changed nothing.");
    const leftOut = [{ path: "secret.env", why: "ignored" as const }];
    expect(changesQuestion("apply", [{ task, changes: { ...changes, files: [], leftOut } }])).toBeUndefined();
    expect(changesQuestion("discard", [{ task, changes: { ...changes, files: [], leftOut } }])?.message).toContain(
      '"secret.env"',
    );
    expect(noChanges({ ...changes, files: [], leftOut })).toMatch(/^Nothing that it left can be applied\.\nNot among/);
    expect(changesQuestion("apply", [{ task, changes: { ...changes, files, became: "expired" } }])).toBeUndefined();
    expect(changesQuestion("discard", [{ task, changes: { ...changes, files, became: "expired" } }])?.message).toMatch(
      /^Its worktree is gone; a patch file is kept\./,
    );
    expect(noChanges({ ...changes, files, became: "discarded" })).toBe("Its changes were discarded.");
  });
});

describe("stopping a task", () => {
  const parent = panelTask("parent");
  const child = panelTask("child", { parentTaskId: "parent", parentSessionID: "parent" });
  const helped = panelTask("helped", { parentTaskId: "child", parentSessionID: "ses_helper" });
  const done = ended(panelTask("done", { parentTaskId: "parent", parentSessionID: "parent" }), "completed");
  const tasks = [parent, child, helped, done, panelTask("other")];

  test("stops what it launched, at any depth, that has not ended", () => {
    expect(stopsWith([parent], tasks)).toEqual([child, helped]);
    expect(stopsWith([helped], tasks)).toEqual([]);
  });

  test("is asked about with what else stops", () => {
    expect(stopQuestion([parent], tasks)).toEqual({
      title: 'Stop "about parent"?',
      message: '2 subtasks stop with it: "about child", "about helped". The agent that launched it is notified.',
      ...{ keep: "Leave it running", go: "Stop it" },
    });
    expect(stopQuestion([helped], tasks).message).toMatch(/^Nothing else stops/);
  });

  test("is asked about once for several", () => {
    expect(stopQuestion([parent, child], tasks)).toEqual({
      title: "Stop 2 tasks?",
      message:
        '"about parent", "about child". 1 subtask stops with them: "about helped". The agents that launched them are notified.',
      ...{ keep: "Leave them running", go: "Stop 2 tasks" },
    });
  });

  test("names a few of many", () => {
    const many = Array.from({ length: 8 }, (_, index) => panelTask(`c${index}`, { parentTaskId: "parent" }));
    expect(stopQuestion([parent], [parent, ...many]).message).toContain('"about c4" and 3 more.');
  });
});

describe("an action that makes no sense", () => {
  test.each([
    ["stop", ended(panelTask("a"), "completed"), "has ended already"],
    ["resume", panelTask("a"), "steer it with s"],
    ["resume", ended(panelTask("a"), "completed"), "only a completed task"],
    ["retry", ended(panelTask("a"), "error"), "it would only fail again"],
    ["steer", ended(panelTask("a"), "completed"), "resume it with r"],
    ["steer", ended(panelTask("a"), "cancelled"), "retry it with r"],
    ["steer", panelTask("a"), "no instructions"],
    ["answer", panelTask("a"), "has no open request"],
    ["apply", ended(panelTask("a"), "completed"), "has no worktree"],
    [
      "discard",
      ended(panelTask("a", { worktree: { ...WORKTREE, isShared: true } }), "completed"),
      "of its parent task",
    ],
    ["apply", panelTask("a", { worktree: WORKTREE }), "wait until it has ended"],
  ] as const)("%s is refused with a reason", (action, task, reason) => {
    expect(refusalOf(action, task)).toContain(reason);
  });

  test("differs from one that does", () => {
    expect(refusalOf("stop", panelTask("a"))).toBeUndefined();
    expect(refusalOf("resume", ended(panelTask("a", { allowed: ["RESUME"] }), "completed"))).toBeUndefined();
    expect(refusalOf("retry", ended(panelTask("a", { allowed: ["RETRY"] }), "error"))).toBeUndefined();
    expect(refusalOf("steer", panelTask("a", { allowed: ["STEER"] }))).toBeUndefined();
    expect(refusalOf("answer", asking(panelTask("a")))).toBeUndefined();
    expect(refusalOf("apply", ended(panelTask("a", { worktree: WORKTREE }), "error"))).toBeUndefined();
  });
});

describe("a retry", () => {
  const providers = [
    {
      id: "openai",
      name: "OpenAI",
      models: { "gpt-5.2": { id: "gpt-5.2", name: "GPT-5.2" }, small: { id: "small", name: "Small" } },
    },
  ];
  const small = { providerID: "openai", modelID: "small" };
  const others = [{ title: "GPT-5.2", value: "openai/gpt-5.2", category: "OpenAI" }];
  const errorOf = (kind: TaskError["kind"], name = "APIError"): TaskError => ({ kind, name, message: "no" });

  test("asks for a model where the request to it failed, the same one first", () => {
    expect(modelChoices({ error: errorOf("provider"), model: small }, providers)).toEqual([
      { title: "The same model, openai/small", value: SAME_MODEL },
      ...others,
    ]);
    expect(modelChoices({ error: errorOf("provider") }, providers)?.map(({ title }) => title)).toEqual([
      "The same model, its agent's own",
      "GPT-5.2",
      "Small",
    ]);
  });

  test("needs another model where the conversation is too long for this one", () => {
    const error = errorOf("provider", "ContextOverflowError");
    expect(modelChoices({ error, model: small }, providers)).toEqual(others);
    const task = ended(panelTask("a", { error, allowed: [] }), "error");
    expect(refusalOf("retry", task)).toBeUndefined();
    expect(refusalOf("retry", { ...task, nextRun: "retry" })).toContain("is to go on already");
  });

  test("asks for none where the model is not at fault, or no retry helps", () => {
    for (const error of [errorOf("gate"), errorOf("timeout"), errorOf("sessionGone"), undefined]) {
      expect(modelChoices({ error, model: small }, providers)).toBeUndefined();
    }
  });
});

test("the key that resumes a completed task retries one that failed or was cancelled", () => {
  const statuses = ["completed", "error", "cancelled"] as const;
  expect(statuses.map((status) => actionFor("resume", ended(panelTask("a"), status)))).toEqual([
    "resume",
    "retry",
    "retry",
  ]);
  expect(actionFor("stop", ended(panelTask("a"), "error"))).toBe("stop");
});

test("a request can be answered from the task that asks, and from those above it", () => {
  const child = asking(panelTask("child", { parentTaskId: "parent", startedAt: ago(20) }));
  const parent = asking(panelTask("parent"));
  for (const from of [parent, child]) {
    expect(requestsOf(from, [parent, child]).map(({ task }) => task.sessionID)).toEqual(["child"]);
  }
});

describe("why a task stands as it does", () => {
  test("is what it waits for, since when, and its place in the queue", () => {
    const queued = panelTask("a", {
      waiting: { for: "slot", since: ago(65) },
      queue: { place: 2, heldUpBy: { kind: "agent", name: "general", used: 3, limit: 3 } },
      why: "a slot of agent general (3 of 3 in use, 1 ahead of it); it starts by itself",
    });
    expect(whyText(queued, NOW).message).toBe(
      "Waits for a slot of agent general (3 of 3 in use, 1 ahead of it); it starts by itself. It has waited for 1m 5s.",
    );
  });

  test("is how it has ended", () => {
    const failed = ended(panelTask("a", { error: { name: "E", kind: "host", message: "no model" } }), "error");
    expect(whyText(failed, NOW).message).toBe("It failed: no model");
    expect(whyText(ended(panelTask("a", { summary: "12 files." }), "completed"), NOW).message).toBe(
      "It is completed. 12 files.",
    );
    expect(whyText(ended(panelTask("a"), "cancelled"), NOW).message).toBe("It was cancelled.");
  });
});

/** Returns what follows when a person chooses what has that title. */
const choosing = (request: OpenUserRequest, answers: Answers, title: string) =>
  nextStep(request, answers)?.choices.find((choice) => choice.title === title)?.value;

describe("a permission", () => {
  const request: OpenUserRequest = {
    id: "per_1",
    kind: "permission",
    what: "bash: git push",
    since: ago(1),
    always: ["git *"],
  };

  test("is granted once or always, which says what that allows, or rejected", () => {
    const step = nextStep(request, [[]]);
    expect(step?.title).toBe("Permission: bash: git push");
    expect(step?.choices.map(({ title, description }) => [title, description])).toEqual([
      ["Allow once", undefined],
      ["Allow always", "git *"],
      ["Reject", undefined],
      ["Reject, and say why …", undefined],
    ]);
    expect(choosing(request, [[]], "Allow always")).toEqual({ reply: { requestId: "per_1", reply: "always" } });
  });

  test("is rejected with a message", () => {
    expect(choosing(request, [[]], "Reject, and say why …")).toEqual({ write: "message" });
    expect(afterText(request, [[]], "message", "not today")).toEqual({
      reply: { requestId: "per_1", reply: "reject", message: "not today" },
    });
  });
});

describe("questions", () => {
  const request: OpenUserRequest = {
    id: "que_1",
    kind: "question",
    what: "Which?",
    since: ago(1),
    questions: [
      { question: "Which file?", options: ["a.ts", "b.ts"], multiple: false, custom: true },
      { question: "Which tests?", options: ["unit", "e2e"], multiple: true, custom: false },
    ],
  };
  const titles = (answers: Answers) => nextStep(request, answers)?.choices.map(({ title }) => title);

  test("are answered one after the other, with a choice, a text of one's own, or several choices", () => {
    expect(titles([[]])).toEqual(["a.ts", "b.ts", "Something else …", "Reject the question"]);
    expect(choosing(request, [[]], "Something else …")).toEqual({ write: "answer" });
    expect(afterText(request, [[]], "answer", "c.ts")).toEqual({ answers: [["c.ts"], []] });
    expect(choosing(request, [[]], "a.ts")).toEqual({ answers: [["a.ts"], []] });
    expect(titles([["a.ts"], []])).toEqual(["[ ] unit", "[ ] e2e", "Reject the question"]);
    expect(choosing(request, [["a.ts"], []], "[ ] e2e")).toEqual({ answers: [["a.ts"], ["e2e"]] });
    expect(titles([["a.ts"], ["e2e"]])).toEqual(["[ ] unit", "[x] e2e", "That is all", "Reject the question"]);
    expect(choosing(request, [["a.ts"], ["e2e"]], "[x] e2e")).toEqual({ answers: [["a.ts"], []] });
    expect(choosing(request, [["a.ts"], ["e2e"]], "That is all")).toEqual({
      reply: { requestId: "que_1", answers: [["a.ts"], ["e2e"]] },
    });
  });

  test("say their place where there are several", () => {
    expect(nextStep(request, [["a.ts"], []])?.title).toBe("2 of 2: Which tests?");
    const [only] = request.questions ?? [];
    expect(nextStep({ ...request, questions: only ? [only] : [] }, [[]])?.title).toBe("Which file?");
  });

  test("are rejected as a whole", () => {
    expect(choosing(request, [["a.ts"], []], "Reject the question")).toEqual({
      reply: { requestId: "que_1", reply: "reject" },
    });
  });
});

describe("the options of the panel", () => {
  test("are two keys, which may be none", () => {
    expect(readPanelOptions()).toEqual({ options: { key: "<leader>k", backKey: "<leader>j" }, faults: [] });
    expect(readPanelOptions({ key: "ctrl+t", backKey: false }).options).toEqual({ key: "ctrl+t", backKey: undefined });
  });

  test("that are wrong are said, and have their defaults", () => {
    const { options, faults } = readPanelOptions({ key: 7, keys: "x" });
    expect(options.key).toBe("<leader>k");
    expect(faults).toEqual([
      '"key" must be a key such as "<leader>k", or false for none; it is "<leader>k" now.',
      'There is no option "keys": the panel has "key" and "backKey".',
    ]);
  });
});

describe("with several tasks that are marked", () => {
  const running = panelTask("running", { allowed: ["PAUSE", "CANCEL", "STEER"] });
  const paused = panelTask("paused", {
    allowed: ["CONTINUE", "CANCEL"],
    waiting: { for: "continue", since: ago(5) },
  });
  const completed = ended(panelTask("completed", { allowed: ["RESUME"] }), "completed");
  const failed = ended(panelTask("failed", { allowed: ["RETRY"] }), "error");

  test.each([
    ["stop", [running, completed, paused], "stop", ["running", "paused"]],
    ["pause", [running, paused], "pause", ["running"]],
    ["pause", [paused, completed], "continue", ["paused"]],
    ["resume", [completed, failed], "retry", ["failed"]],
    ["resume", [completed, running], "resume", ["completed"]],
    ["steer", [completed, running], "steer", ["running"]],
    ["pause", [paused], "continue", ["paused"]],
  ] as const)("%s is done with those for which it makes sense", (asked, tasks, action, names) => {
    expect(planFor(asked, tasks)).toMatchObject({ action, tasks: names.map((name) => ({ sessionID: name })) });
  });

  test("what makes sense for none of them is refused", () => {
    expect(planFor("stop", [completed, failed])).toEqual({
      refused: 'No marked task takes that. "about completed" has ended already.',
    });
    expect(planFor("stop", [completed])).toEqual({ refused: '"about completed" has ended already.' });
  });
});
