import { expect, test } from "vitest";
import type { LaunchJournal } from "../../../src/machines/launch/replay.ts";
import { type Served, serve } from "../../services/http/served.ts";
import { scriptTask } from "../../services/store/scripted-task.ts";
import { commandHere } from "../command-line.ts";

const run = ({ folder }: Served, args: string[], size = {}) => commandHere(["why", ...args, "--data", folder], size);

const QUESTION = { id: "que_1", kind: "question", what: "Which one?", since: "2026-11-22T10:11:12.000Z" } as const;

/** A launch that makes a worktree, one that has left something, and one of which nothing is known but its row. */
const withLaunches = async (): Promise<Served> => {
  const served = await serve();
  const of = { parentSessionID: "ses_parent", directory: "/project", way: { passed: [], arrivals: {} } };
  const since = new Date(Date.now() - 12_000).toISOString();
  const refusal = "OpenCode did not say whether it created a session for the task: Timeout.";
  served.source.launching = [
    { ...of, id: "msg_aaaa", description: "mend it", agent: "build", states: ["preparing.makingWorktree"], since },
    {
      ...{ ...of, id: "msg_bbbb", states: ["leftBehind.pausing"], refusal },
      way: { passed: ["preparing", "givingUp"], arrivals: { leftBehind: "givingUp.answering::0" } },
    },
  ];
  served.source.store.beginLaunch({ messageID: "msg_cccc", parentSessionID: "ses_x", at: 1, fork: false });
  return served;
};

test("without an id, launches are named that have led to no task, with what is done for each", async () => {
  const served = await withLaunches();
  const { code, out } = await run(served, [], { columns: 200 });
  expect(code).toBe(0);
  const lines = out.split("\n");
  expect(lines[0]).toBe('launch msg_aaaa "mend it"');
  expect(lines[1]).toMatch(/ A worktree is made for the task \(for 12(\.\d)?s\)\.$/);
  expect(lines[2]).toBe("  By session ses_parent, in /project.");
  expect(lines[3]).toBe("launch msg_bbbb of session ses_parent");
  expect(out).toContain("  OpenCode did not say whether it created a session for the task: Timeout.");
  expect(out).toMatch(/^launch msg_cccc of session ses_x$/m);
  expect(out).not.toContain("No task is under way");
  expect(JSON.parse((await run(served, ["--json"])).out)).toMatchObject([
    { launch: "msg_aaaa", states: ["preparing.makingWorktree"] },
    { launch: "msg_bbbb", refusal: expect.stringContaining("Timeout") },
    { launch: "msg_cccc", states: ["leftToNext"] },
  ]);
});

test("the id of a launch, or its beginning, leads to it alone, and to its chart; one that is over is refused", async () => {
  const served = await withLaunches();
  const { out } = await run(served, ["msg_b", "--chart"], { columns: 80 });
  const lines = out.split("\n");
  expect(lines[0]).toBe("launch msg_bbbb of session ses_parent");
  expect(out).not.toContain("msg_aaaa");
  const sheet = lines.slice(lines.indexOf("launch › left behind"));
  expect(sheet.slice(1, 3)).toEqual(["● pausing", "  Some time passes until the next attempt, more each time."]);
  expect(await run(served, ["msg_nope"])).toMatchObject({
    code: 2,
    error: 'There is no launch "msg_nope": it has led to a task, or nothing is left of it.\n',
  });
});

test("of a task in its first run it says what the launch did", async () => {
  const served = await serve();
  served.source.launch({ sessionID: "ses_aaaa1111" });
  expect((await run(served, ["aaaa"])).out).not.toContain("Its launch");
  const launch: LaunchJournal = {
    input: {},
    events: [
      { type: "TURN_TAKEN", at: 1_000 },
      { type: "CREATION_UNCONFIRMED", at: 61_000, reason: "Timeout" },
      { type: "SESSION_FOUND", at: 61_020, sessionID: "ses_bbbb2222" },
      { type: "TASK_STARTED", at: 61_021 },
    ],
  };
  const task = scriptTask("ses_bbbb2222");
  served.source.store.commit({ ...task.launch(), launches: new Map([[task.id, launch]]) });
  expect((await run(served, ["bbbb"], { columns: 200 })).out).toContain(
    "  Its launch: its turn came, creation not confirmed after 1m (Timeout), session found, task started.\n",
  );
  expect((await run(served, [], { columns: 200 })).out).not.toContain("Its launch");
});

test("why says what each live task waits for and who moves it, the one that waits for a person first", async () => {
  const served = await serve();
  const { source } = served;
  source.launch({ sessionID: "ses_aaaa1111", description: "read" });
  source.launch({
    sessionID: "ses_bbbb2222",
    description: "ask",
    attention: { kind: "question", what: QUESTION.what, since: QUESTION.since, requests: [QUESTION] },
  });
  source.end(source.launch({ sessionID: "ses_cccc3333", description: "fail" }).sessionID, "error");
  const all = await run(served, []);
  expect(all.code).toBe(0);
  expect(all.out.replaceAll(/node \S+/g, "taskchart")).toMatch(
    /^ses_bbbb2222 "ask"\n {2}Waits for the user to answer: "Which one\?" .*\n {2}answer with: taskchart answer que_1 {2}\(or --reject\)\nses_aaaa1111 "read"\n {2}Waits for its agent, which is at work \(for .*\)\.\n$/,
  );
  expect((await run(served, ["cccc"])).out).toContain("It ended in an error: overloaded");
  expect(JSON.parse((await run(served, ["aaaa", "--json"])).out)).toMatchObject([
    { sessionID: "ses_aaaa1111", waiting: { for: "agent" }, why: "its agent, which is at work" },
  ]);
  expect(await run(served, ["nope"])).toMatchObject({ code: 2, error: 'There is no task "ses_nope".\n' });
});

test("why --chart draws the part of its chart in which a task is, with the way that it came", async () => {
  const served = await serve();
  served.source.launch({ sessionID: "ses_aaaa1111" });
  served.source.launch({ sessionID: "ses_bbbb2222", state: "running.queued" });
  const lines = (await run(served, ["aaaa", "--chart"])).out.split("\n");
  const sheet = lines.slice(lines.indexOf("task › run › active › working"));
  expect(sheet.slice(0, 4)).toEqual([
    "task › run › active › working",
    "● busy",
    "  The agent is at work.",
    "  came here: prompt accepted, from run › active › prompting › sending",
  ]);
  // Its journal says that it is at work, which it is not: no way is better than a wrong one.
  expect((await run(served, ["bbbb", "--chart"])).out).toMatch(/^● queued$/m);
  expect((await run(served, ["bbbb", "--chart"])).out).not.toContain("came here");
});
