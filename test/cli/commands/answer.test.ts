import { expect, test, vi } from "vitest";
import { dateTime } from "../../../src/cli/terminal.ts";
import { shellCommand } from "../../../src/services/text/request-text.ts";
import type { OpenUserRequest } from "../../../src/user-request.ts";
import { type Served, serve, temporaryFolder } from "../../services/http/served.ts";
import { commandHere } from "../command-line.ts";

const SINCE = "2026-11-22T10:11:12.000Z";

const PERMISSION: OpenUserRequest = {
  id: "per_1",
  kind: "permission",
  what: "bash: rm -rf build",
  since: SINCE,
  always: ["rm *"],
};
const QUESTION: OpenUserRequest = {
  id: "que_1",
  kind: "question",
  what: "Which one? How many?",
  since: SINCE,
  questions: [
    { question: "Which one?", options: ["a.ts", "b.ts"], multiple: false, custom: false },
    { question: "How many?", options: ["1", "2, or more"], multiple: true, custom: true },
  ],
};

const asking = ({ source }: Served, ...requests: OpenUserRequest[]) => {
  const [first] = requests;
  if (!first) throw new Error("nothing is asked");
  return source.launch({ attention: { kind: first.kind, what: first.what, since: SINCE, requests } }).sessionID;
};

const answer = ({ folder }: Served, ...args: string[]) => commandHere(["answer", ...args, "--data", folder]);

const COMMAND = shellCommand(process.argv[1] ?? "");

/** The local time of a request, as it is shown. */
const LOCAL = dateTime(Date.parse(SINCE));

test("without an id it shows what all tasks ask, each request once, with the line that answers it", async () => {
  const served = await serve();
  served.source.launch();
  asking(served, { ...PERMISSION, what: "bash: rm -rf build (asked by ses_0003, a subagent of this task)" });
  asking(served, PERMISSION);
  asking(served, QUESTION);
  const { code, out, error } = await answer(served);
  expect({ code, error }).toEqual({ code: 0, error: "" });
  expect(out).toBe(`ses_0004  "task number 4" (general), since ${LOCAL}
  asks: Which one? How many?
  - "Which one?" ["a.ts", "b.ts"]
  - "How many?" ["1", "2, or more", several may be chosen, or something else]
  ${COMMAND} answer que_1 <answer> <answer>  (or --reject)
ses_0003  "task number 3" (general), since ${LOCAL}
  asks permission for bash: rm -rf build
  - always allows: rm *
  ${COMMAND} answer per_1 <once|always|reject>
`);
});

test("where nothing is asked it says so", async () => {
  const served = await serve();
  const { sessionID } = served.source.launch();
  expect(await answer(served)).toEqual({ code: 0, out: "No task has an open request.\n", error: "" });
  expect(await answer(served, sessionID)).toEqual({ code: 0, out: "The task has no open request.\n", error: "" });
});

test.each([
  [PERMISSION, ["once"], { requestId: "per_1", reply: "once" }],
  [PERMISSION, ["reject", "--message", "Leave it."], { requestId: "per_1", reply: "reject", message: "Leave it." }],
  [PERMISSION, ["--reject"], { requestId: "per_1", reply: "reject" }],
  [QUESTION, ["a.ts", "1, three"], { requestId: "que_1", answers: [["a.ts"], ["1", "three"]] }],
  [QUESTION, ["a.ts", "2, or more"], { requestId: "que_1", answers: [["a.ts"], ["2, or more"]] }],
  [QUESTION, ["--reject"], { requestId: "que_1", reply: "reject" }],
])("an answer goes to the request that is named: %o %j", async (request, words, given) => {
  const served = await serve();
  const id = asking(served, request, { ...PERMISSION, id: "per_2" });
  const { code, out, error } = await answer(served, request.id, ...words);
  expect({ code, error }).toEqual({ code: 0, error: "" });
  expect(out).toBe(`Answered. Task ${id} "task number 1" is running.\n`);
  expect(served.source.asked).toEqual([`answer ${JSON.stringify(given)} ${id}`]);
});

test("with an id alone it shows what that task asks, or that request, and answers nothing", async () => {
  const served = await serve();
  const id = asking(served, PERMISSION, QUESTION);
  asking(served, { ...PERMISSION, id: "per_2" });
  const ofTask = (await answer(served, id)).out;
  expect(ofTask).toContain("answer per_1");
  expect(ofTask).toContain("answer que_1");
  expect(ofTask).not.toContain("answer per_2");
  const ofRequest = (await answer(served, "que_1")).out;
  expect(ofRequest).toContain("answer que_1");
  expect(ofRequest).not.toContain("answer per_1");
  expect(served.source.asked).toEqual([]);
});

test("an answer to a task is refused: what it asks next would be answered unseen", async () => {
  const served = await serve();
  const id = asking(served, PERMISSION, QUESTION);
  expect((await answer(served, id, "once")).error).toBe(
    `Answer one of the task's requests, by its id:\n  ${COMMAND} answer per_1 <once|always|reject>\n  ${COMMAND} answer que_1 <answer> <answer>  (or --reject)\n`,
  );
  expect(served.source.asked).toEqual([]);
});

test.each([
  [["per_9", "once"], 'No open request or running task has the id "per_9"'],
  [["per_1", "--message", "no"], "Give an answer, or --reject."],
  [["per_1", "yes"], 'A permission takes once, always or reject, not "yes".'],
  [["per_1", "once", "always"], "A permission takes once, always or reject"],
  [["per_1", "once", "--reject"], "--reject cannot be combined with an answer"],
  [["per_1", "once", "--message", "hi"], "goes with reject only"],
  [["que_1", "reject"], "To reject a question, use --reject."],
  [["que_1", "a.ts"], "needs answers to each of its 2 questions, but got 1"],
  [["que_1", "c.ts", "1"], '"Which one?" does not take "c.ts". Choices: "a.ts", "b.ts".'],
  [["que_1", "a.ts", " "], "An answer is empty."],
  [["", "once"], "Give the id of a request."],
  [["--reject"], "Give the id of a request."],
])("%j is refused with what was wrong, and nothing is answered", async (words, message) => {
  const served = await serve();
  asking(served, PERMISSION, QUESTION);
  const { code, out, error } = await answer(served, ...words);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(error).toContain(message);
  expect(served.source.asked).toEqual([]);
});

test("what a child wrote stays on its line, and moves no cursor: shown, and in what is refused", async () => {
  const served = await serve();
  const nasty = "rm\u001b]0;title\u0007\u001b[2J\nopencode-taskchart answer per_9 once";
  asking(served, { ...PERMISSION, what: nasty });
  asking(served, {
    ...QUESTION,
    questions: [{ question: nasty, options: [nasty], multiple: false, custom: false }],
  });
  served.source.refusal = nasty;
  const texts = [
    (await answer(served)).out,
    (await answer(served, "que_1", "x")).error,
    (await answer(served, "per_1", "once")).error,
  ];
  for (const text of texts) {
    expect(text).toContain("rm");
    expect(text.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
    expect(text).not.toMatch(/^(node|opencode-taskchart)/m);
  }
});

test("where no OpenCode runs, it says so and what to do", async () => {
  const folder = temporaryFolder();
  expect(await commandHere(["answer", "--data", folder])).toEqual({
    code: 4,
    out: "",
    error: `OpenCode is not running: open it in your project. There is no server.json in ${folder}. Use --data if its data are in another folder.\n`,
  });
});

test("the command is shown as it was called, as a shell takes it", () => {
  expect(shellCommand("/home/me/taskchart/dist/cli.js", "linux")).toBe("node /home/me/taskchart/dist/cli.js");
  expect(shellCommand("/home/me/it's $HOME/cli.js", "linux")).toBe(`node '/home/me/it'\\''s $HOME/cli.js'`);
  expect(shellCommand("C:\\plugins\\cli.js", "win32")).toBe("node C:\\plugins\\cli.js");
  expect(shellCommand("C:\\my plugins\\cli.js", "win32")).toBe('node "C:\\my plugins\\cli.js"');
});

test("in a terminal of OpenCode, where agents run commands, it shows requests and answers none", async () => {
  const served = await serve();
  asking(served, PERMISSION);
  vi.stubEnv("OPENCODE", "1");
  try {
    expect(await answer(served, "per_1", "once")).toMatchObject({
      code: 2,
      error: expect.stringContaining("Only a person may answer what a task asks"),
    });
    expect((await answer(served)).out).toContain("answer per_1 <once|always|reject>");
  } finally {
    vi.unstubAllEnvs();
  }
});
