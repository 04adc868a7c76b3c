import { describe, expect, test } from "vitest";
import { type Served, serve } from "../../services/http/served.ts";
import { commandHere } from "../command-line.ts";

/** A task with one below it and one below that, and one beside it. */
const family = async () => {
  const served = await serve();
  const { source } = served;
  source.launch({ sessionID: "ses_top11111", description: "the top" });
  source.launch({ sessionID: "ses_mid22222", description: "the middle", parentTaskId: "ses_top11111" });
  source.launch({ sessionID: "ses_low33333", description: "the bottom", parentTaskId: "ses_mid22222" });
  source.launch({ sessionID: "ses_beside44", description: "beside them" });
  return served;
};

const run = ({ folder }: Served, args: string[], size = {}) => commandHere([...args, "--data", folder], size);

describe("cancel", () => {
  test("says what else stops, and asks; a no stops nothing", async () => {
    const served = await family();
    const { code, out } = await run(served, ["cancel", "top"], { isInteractive: true, columns: 200 });
    expect(code).toBe(2);
    expect(out.replaceAll(/for \w+( \w+)?\)/g, "for 1s)")).toBe(
      [
        'This stops ses_top11111 "the top" (general, running for 1s), and its subtasks:',
        '  ses_mid22222 "the middle" (general, running for 1s)',
        '  ses_low33333 "the bottom" (general, running for 1s)',
        "Stop it? [y/N] ",
        "Nothing was stopped.",
        "",
      ].join("\n"),
    );
    expect(served.source.asked).toEqual([]);
  });

  test.each([
    ["a yes", [], { isInteractive: true, answer: true }],
    ["--yes", ["--yes"], { isInteractive: true }],
    ["no terminal", [], {}],
  ])("with %s it stops the task", async (_, args, size) => {
    const served = await family();
    const { code, out } = await run(served, ["cancel", "top", ...args], size);
    expect(code).toBe(0);
    expect(out).toContain('Task ses_top11111 "the top" is running, and with it 2 subtasks.');
    expect(served.source.asked).toEqual(["cancel ses_top11111"]);
  });

  test("a task that has ended is said to have, and nobody is asked", async () => {
    const served = await family();
    served.source.end("ses_beside44");
    const { code, error } = await run(served, ["cancel", "beside"], { isInteractive: true });
    expect({ code, error }).toEqual({
      code: 2,
      error: 'Task ses_beside44 "beside them" has already ended: it is completed.\n',
    });
  });

  test("as JSON it is the task, as the API has it, and nobody is asked", async () => {
    const served = await family();
    const { out } = await run(served, ["cancel", "low", "--json"], { isInteractive: true });
    expect(served.source.asked).toEqual(["cancel ses_low33333"]);
    expect(JSON.parse(out)).toEqual(await served.json("/v1/tasks/ses_low33333"));
  });
});

describe("cancel of many", () => {
  test("says all that stops, and asks once; what is below another one stops with it", async () => {
    const served = await family();
    const all = ["cancel", "--all"];
    const { code, out } = await run(served, all, { isInteractive: true, columns: 200 });
    expect(code).toBe(2);
    expect(out.replaceAll(/for \w+( \w+)?\)/g, "for 1s)")).toBe(
      [
        "This stops 2 tasks, and their subtasks:",
        '  ses_beside44 "beside them" (general, running for 1s)',
        '  ses_top11111 "the top" (general, running for 1s)',
        '  ses_mid22222 "the middle" (general, running for 1s)',
        '  ses_low33333 "the bottom" (general, running for 1s)',
        "Stop them? [y/N] ",
        "Nothing was stopped.",
        "",
      ].join("\n"),
    );
    expect(served.source.asked).toEqual([]);
    const done = await run(served, all, { isInteractive: true, answer: true });
    expect(done).toMatchObject({ code: 0, out: expect.stringContaining("and with it 2 subtasks.") });
    expect(served.source.asked).toEqual(["cancel ses_beside44", "cancel ses_top11111"]);
  });

  test("by ids stops those that can be stopped, and says which could not", async () => {
    const served = await family();
    served.source.end("ses_beside44");
    const { code, error } = await run(served, ["cancel", "mid", "beside", "low", "nobody"]);
    expect({ code, asked: served.source.asked }).toEqual({ code: 1, asked: ["cancel ses_mid22222"] });
    expect(error).toContain("has already ended: it is completed.");
    expect(error).toContain("nobody");
    const { out } = await run(served, ["cancel", "mid", "top", "--json"]);
    expect(JSON.parse(out)).toMatchObject([{ sessionID: "ses_top11111" }]);
  });

  test("by a batch or a session stops what those have", async () => {
    const served = await family();
    const other = { sessionID: "ses_other555", batchId: "batch_2", parentSessionID: "ses_elsewhere" };
    served.source.launch(other);
    await run(served, ["cancel", "--batch", "batch_2"]);
    await run(served, ["cancel", "--parent", "ses_elsewhere"]);
    expect(served.source.asked).toEqual(["cancel ses_other555", "cancel ses_other555"]);
    expect(await run(served, ["cancel", "--batch", "batch_9"])).toMatchObject({
      code: 2,
      error: "No task of batch batch_9 runs.\n",
    });
    expect((await run(served, ["cancel", "--parent", "ses_nobody"])).error).toBe(
      "No task of session ses_nobody runs.\n",
    );
    for (const args of [[], ["top", "--all"], ["--all", "--batch", "batch_2"]]) {
      expect(await run(served, ["cancel", ...args])).toMatchObject({
        code: 2,
        error: "Give ids of tasks, --batch, --parent or --all: exactly one of them.\n",
      });
    }
  });
});

test("resume and steer send the words after the id, and a refusal is shown in its words", async () => {
  const served = await family();
  expect(await commandHere(["resume", "--data", served.folder, "top", "and", "now", "--", "-v"])).toMatchObject({
    code: 0,
    out: 'Task ses_top11111 "the top" goes on with that prompt.\n',
  });
  expect(await run(served, ["steer", "top", "only", "the tests"])).toMatchObject({
    code: 0,
    out: 'Task ses_top11111 "the top" was given the instruction: its agent sees it at its next step.\n',
  });
  expect(served.source.asked).toEqual([
    'resume with "and now -v" ses_top11111',
    'steer with "only the tests" ses_top11111',
  ]);
  served.source.refusal = "It is running.";
  expect(await run(served, ["resume", "top", "more"])).toEqual({ code: 2, out: "", error: "It is running.\n" });
});

describe("retry", () => {
  test("has one task go on, or several, each with the prompt", async () => {
    const served = await family();
    expect(await run(served, ["retry", "top"])).toMatchObject({
      code: 0,
      out: 'Task ses_top11111 "the top" goes on from where it was.\n',
    });
    const { code, out } = await run(served, ["retry", "mid", "low", "--prompt", "The key is renewed."]);
    expect({ code, lines: out.trim().split("\n").length }).toEqual({ code: 0, lines: 2 });
    expect(served.source.asked).toEqual([
      'retry with "" ses_top11111',
      'retry with "The key is renewed." ses_mid22222',
      'retry with "The key is renewed." ses_low33333',
    ]);
  });

  test("a refusal is shown in its words; of several, those that can go on do", async () => {
    const served = await family();
    const unknown = await run(served, ["retry", "top", "nobody", "low"]);
    expect(unknown).toMatchObject({ code: 1, error: expect.stringContaining("nobody") });
    expect(served.source.asked).toEqual(['retry with "" ses_top11111', 'retry with "" ses_low33333']);
    served.source.refusal = "It is running.";
    expect(await run(served, ["retry", "top"])).toEqual({ code: 2, out: "", error: "It is running.\n" });
    expect(await run(served, ["retry", "top", "low"])).toEqual({
      code: 2,
      out: "",
      error: "It is running.\nIt is running.\n",
    });
  });

  test("of a batch or a session has all go on that failed or were cancelled, but for what is below one of them", async () => {
    const served = await family();
    for (const id of ["ses_top11111", "ses_mid22222"]) served.source.end(id, "cancelled");
    served.source.end("ses_beside44", "error");
    served.source.end("ses_low33333");
    const { batchId, parentSessionID } = await served.json("/v1/tasks/ses_top11111");
    await run(served, ["retry", "--batch", String(batchId), "--model", "openai/large"]);
    expect(served.source.asked.toSorted()).toEqual([
      'retry with "" by openai/large ses_beside44',
      'retry with "" by openai/large ses_top11111',
    ]);
    served.source.asked.length = 0;
    await run(served, ["retry", "--parent", String(parentSessionID)]);
    expect(served.source.asked).toHaveLength(2);
    expect((await run(served, ["retry", "--parent", "ses_nobody"])).error).toBe(
      "No task of session ses_nobody can be retried.\n",
    );
    expect((await run(served, ["retry"])).error).toBe("Give ids of tasks, --batch or --parent: exactly one of them.\n");
  });

  test("as JSON it is a list of the tasks that go on", async () => {
    const served = await family();
    const { code, out, error } = await run(served, ["retry", "top", "nobody", "--json"]);
    expect(code).toBe(1);
    expect(error).toContain("nobody");
    expect(JSON.parse(out)).toMatchObject([{ sessionID: "ses_top11111" }]);
  });
});
