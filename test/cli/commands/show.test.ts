import { expect, test } from "vitest";
import { type Served, serve } from "../../services/http/served.ts";
import { commandHere } from "../command-line.ts";

const run = ({ folder }: Served, command: string, args: string[], size = {}) =>
  commandHere([command, ...args, "--data", folder], size);

const QUESTION = { id: "que_1", kind: "question", what: "Which one?", since: "2026-11-22T10:11:12.000Z" } as const;

test("a task is shown with how it stands, what it used, its prompt and its result, cut until all is asked for", async () => {
  const served = await serve();
  const now = new Date().toISOString();
  const { sessionID } = served.source.launch({
    sessionID: "ses_4f5c9a11",
    description: "fix the parser",
    prompt: Array.from({ length: 30 }, (_, line) => `line ${line}`).join("\n"),
    runStartedAt: now,
    progress: {
      tokens: 12_345,
      cost: 0.42,
      toolCalls: 3,
      toolCallsByName: { bash: 1, read: 2 },
      lastTools: ["read"],
      lastUpdate: now,
    },
  });
  served.source.end(sessionID);
  const { code, out } = await run(served, "show", ["4f5c"], { columns: 80 });
  expect(code).toBe(0);
  expect(out).toMatch(/^fix the parser\nses_4f5c9a11 {2}completed\n\n/);
  expect(out).toMatch(/^used {6}\$0\.42, 12\.3k tokens$/m);
  expect(out).toMatch(/^tools {5}3 calls: read 2, bash 1; last read$/m);
  expect(out).toMatch(/^agent {5}general, fake\/m1$/m);
  expect(out).toMatch(/^result {4}There are 12\.$/m);
  expect(out).toContain("… 22 more lines: --full shows them");
  expect((await run(served, "show", ["4f5c", "--full"])).out).toContain("line 29");
  expect(JSON.parse((await run(served, "show", ["4f5c", "--json"])).out)).toEqual(
    await served.json(`/v1/tasks/${sessionID}`),
  );
});

test("a task on another server is shown with it, and so is what it waits for there", async () => {
  const served = await serve();
  const server = { id: "srv_1", label: "desk" };
  const { sessionID } = served.source.launch({ sessionID: "ses_4f5c9a11", server });
  served.source.launch({ sessionID: "ses_aaaa1111" });
  expect((await run(served, "show", ["4f5c"])).out).toMatch(/^server {4}desk, another one of the fleet$/m);
  expect((await run(served, "show", ["aaaa"])).out).not.toMatch(/^server/m);
  expect((await run(served, "why", ["4f5c"])).out).toContain("Waits for its agent, which is at work on server desk");
  expect(JSON.parse((await run(served, "why", ["4f5c", "--json"])).out)).toMatchObject([{ server }]);
  served.source.end(sessionID);
  expect((await run(served, "show", ["4f5c"])).out).toMatch(/^server {4}desk, another one of the fleet$/m);
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
  const all = await run(served, "why", []);
  expect(all.code).toBe(0);
  expect(all.out.replaceAll(/node \S+/g, "taskchart")).toMatch(
    /^ses_bbbb2222 "ask"\n {2}Waits for the user to answer: "Which one\?" .*\n {2}answer with: taskchart answer que_1 {2}\(or --reject\)\nses_aaaa1111 "read"\n {2}Waits for its agent, which is at work \(for .*\)\.\n$/,
  );
  expect((await run(served, "why", ["cccc"])).out).toContain("It ended in an error: overloaded");
  expect(JSON.parse((await run(served, "why", ["aaaa", "--json"])).out)).toMatchObject([
    { sessionID: "ses_aaaa1111", waiting: { for: "agent" }, why: "its agent, which is at work" },
  ]);
  expect(await run(served, "why", ["nope"])).toMatchObject({ code: 2, error: 'There is no task "ses_nope".\n' });
});

test("why --chart draws the part of its chart in which a task is, with the way that it came", async () => {
  const served = await serve();
  served.source.launch({ sessionID: "ses_aaaa1111" });
  served.source.launch({ sessionID: "ses_bbbb2222", state: "running.queued" });
  const lines = (await run(served, "why", ["aaaa", "--chart"])).out.split("\n");
  const sheet = lines.slice(lines.indexOf("task › run › working"));
  expect(sheet.slice(0, 4)).toEqual([
    "task › run › working",
    "● busy",
    "  The agent is at work.",
    "  came here: prompt accepted, from run › prompting › sending",
  ]);
  // Its journal says that it is at work, which it is not: no way is better than a wrong one.
  expect((await run(served, "why", ["bbbb", "--chart"])).out).toMatch(/^● queued$/m);
  expect((await run(served, "why", ["bbbb", "--chart"])).out).not.toContain("came here");
});
