import { expect, test } from "vitest";
import type { OpenRequest } from "../../src/task.ts";
import { type Served, serve, temporaryFolder } from "../http/served.ts";
import { opencodeTaskchart } from "./command-line.ts";

const SINCE = "2026-11-22T10:11:12.000Z";

const PERMISSION: OpenRequest = { id: "per_1", kind: "permission", what: "bash: rm -rf build", since: SINCE };
const QUESTION: OpenRequest = {
  id: "que_1",
  kind: "question",
  what: "Which one? How many?",
  since: SINCE,
  questions: [
    { question: "Which one?", options: ["a.ts", "b.ts"], multiple: false, custom: false },
    { question: "How many?", options: ["1", "2, or more"], multiple: true, custom: true },
  ],
};

const asking = ({ source }: Served, ...requests: OpenRequest[]) => {
  const [first] = requests;
  if (!first) throw new Error("nothing is asked");
  return source.launch({ attention: { kind: first.kind, what: first.what, since: SINCE, requests } }).sessionID;
};

const answer = ({ folder }: Served, ...args: string[]) => opencodeTaskchart(["answer", ...args, "--data", folder]);

test("without a task it shows what all tasks ask, each request once, with the line that answers it", async () => {
  const served = await serve();
  served.source.launch();
  asking(served, { ...PERMISSION, what: "bash: rm -rf build (asked by ses_0003, below this task)" });
  asking(served, PERMISSION);
  asking(served, QUESTION);
  const { code, out, error } = await answer(served);
  expect({ code, error }).toEqual({ code: 0, error: "" });
  expect(out).toBe(`ses_0004  "task number 4" (general), since 10:11:12
  asks:
  - Which one?  ["a.ts", "b.ts"]
  - How many?  ["1", "2, or more", several may be chosen, or something else]
  opencode-taskchart answer ses_0004 "…" "…"  or  --reject
ses_0003  "task number 3" (general), since 10:11:12
  asks permission for bash: rm -rf build
  opencode-taskchart answer ses_0003 once | always | reject
`);
});

test("where nothing is asked it says so", async () => {
  const served = await serve();
  served.source.launch();
  expect(await answer(served)).toEqual({ code: 0, out: "No task asks anything.\n", error: "" });
});

test.each([
  [PERMISSION, ["once"], { requestId: "per_1", reply: "once" }],
  [PERMISSION, ["reject", "--message", "Leave it."], { requestId: "per_1", reply: "reject", message: "Leave it." }],
  [PERMISSION, ["--reject"], { requestId: "per_1", reply: "reject" }],
  [QUESTION, ["a.ts", "1, three"], { requestId: "que_1", answers: [["a.ts"], ["1", "three"]] }],
  [QUESTION, ["a.ts", "2, or more"], { requestId: "que_1", answers: [["a.ts"], ["2, or more"]] }],
  [QUESTION, ["--reject"], { requestId: "que_1", reply: "reject" }],
])("an answer goes to the task: %o %j", async (request, words, given) => {
  const served = await serve();
  const id = asking(served, request);
  const { code, out, error } = await answer(served, id.slice(0, -1), ...words);
  expect({ code, error }).toEqual({ code: 0, error: "" });
  expect(out).toBe(`Answered. Task ${id} "task number 1" is running.\n`);
  expect(served.source.asked).toEqual([`answer ${JSON.stringify(given)} ${id}`]);
});

test("with a task alone it shows what that asks, and answers nothing", async () => {
  const served = await serve();
  const id = asking(served, PERMISSION, QUESTION);
  asking(served, { ...PERMISSION, id: "per_2" });
  const { out } = await answer(served, id);
  expect(out).toContain(`opencode-taskchart answer ${id} once | always | reject --request per_1`);
  expect(out).not.toContain("ses_0002");
  expect(served.source.asked).toEqual([]);
});

test("where a task asks several things it wants to know which", async () => {
  const served = await serve();
  const id = asking(served, PERMISSION, QUESTION);
  expect((await answer(served, id, "once")).error).toBe(
    `Several things are asked. Say which, with --request:\n  per_1  ${id}  bash: rm -rf build\n  que_1  ${id}  Which one? How many?\n`,
  );
  expect((await answer(served, id, "once", "--request", "per_1")).code).toBe(0);
  expect((await answer(served, id, "once", "--request", "per_9")).error).toContain("Request per_9");
});

test.each([
  [["ses_9", "once"], 'No task "ses_9" is running.'],
  [["ses_0002", "once"], "Task ses_0002 asks nothing, or it was answered already."],
  [["ses_0001", "yes"], 'A permission takes once, always or reject, not "yes".'],
  [["ses_0001", "once", "always"], "A permission takes once, always or reject"],
  [["ses_0001", "once", "--reject"], "--reject stands by itself"],
])("%j is refused with what was wrong, and nothing is answered", async (words, message) => {
  const served = await serve();
  asking(served, PERMISSION);
  served.source.launch();
  const { code, out, error } = await answer(served, ...words);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(error).toContain(message);
  expect(served.source.asked).toEqual([]);
});

test("what the task does not take is said in its words", async () => {
  const served = await serve();
  const id = asking(served, PERMISSION);
  served.source.refusal = "Request per_1 is not open any more in OpenCode.";
  expect(await answer(served, id, "once")).toEqual({ code: 2, out: "", error: `${served.source.refusal}\n` });
});

test("where no OpenCode runs it says so", async () => {
  const folder = temporaryFolder();
  const { code, error } = await opencodeTaskchart(["answer", "--data", folder]);
  expect(code).toBe(2);
  expect(error).toContain(`there is no server.json in ${folder}`);
});
