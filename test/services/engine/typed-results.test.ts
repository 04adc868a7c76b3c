import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as jsonSchemas from "../../../src/services/typed-results/json-schema.ts";
import { createDisk, type Disk } from "../../fakes/disk.ts";
import { createStage, PARENT, type Stage } from "../../fakes/stage.ts";
import { createVirtualClock, settled, type VirtualClock } from "../../fakes/virtual-clock.ts";

let disk: Disk;
let stage: Stage;
let clock: VirtualClock;
/** True where the process hangs in each check, and dies there. */
let diesInCheck: boolean;

const SCHEMA = { type: "object", required: ["files"], properties: { files: { type: "array" } } };
const NOTE =
  "A program reads your final answer. Let your last message be one JSON value that fits this JSON Schema, without any words around it:";

beforeEach(() => {
  disk = createDisk();
  clock = createVirtualClock();
  diesInCheck = false;
  stage = createStage({
    clock,
    openStore: disk.boot,
    schema: { agents: { general: SCHEMA } },
    toolsets: ["tasks", "elisha"],
    loadJsonSchemas: () => (diesInCheck ? new Promise(() => undefined) : Promise.resolve(jsonSchemas)),
  });
});

afterEach(() => {
  stage.engine.stop();
  disk.remove();
});

const answer = async (id: string, text: string) => {
  await stage.finish(id, text);
};

const prompts = (id: string) => stage.host.at(id).prompts.map(({ parts }) => parts[0]?.text ?? "");
const hiddenText = () =>
  stage
    .notices()
    .at(-1)
    ?.find(({ synthetic }) => synthetic)?.text ?? "";

test("the agent is given the schema with each prompt, and the task shows the prompt without it", async () => {
  const id = await stage.launch({ prompt: "Find them." });
  expect(prompts(id)).toEqual([`Find them.\n\n${NOTE}\n${JSON.stringify(SCHEMA)}`]);
  expect(stage.task(id)).toMatchObject({ prompt: "Find them.", schema: SCHEMA });
  await answer(id, '{"files":[]}');
  await clock.advance(2_000);
  await stage.call("task", { resume: id, prompt: "And in b?" });
  await settled();
  expect(prompts(id).at(-1)).toBe(`And in b?\n\n${NOTE}\n${JSON.stringify(SCHEMA)}`);
});

test("the result is the JSON of the answer, in the notice, the output tool and the task", async () => {
  const id = await stage.launch();
  await answer(id, 'Found one.\n```json\n{"files": ["a.ts"]}\n```');
  expect(stage.task(id)).toMatchObject({ status: "completed", result: '{"files": ["a.ts"]}' });
  expect(hiddenText()).toContain('> {"files": ["a.ts"]}\n</task_result>');
  expect(hiddenText()).not.toContain("Found one.");
  expect(await stage.call("output", { task_id: id })).toContain('> {"files": ["a.ts"]}');
});

describe("an answer that does not fit", () => {
  test("is given back once, with what is wrong, and the next one counts", async () => {
    const id = await stage.launch();
    await answer(id, '{"files": "a.ts"}');
    expect(stage.task(id).state).toBe("running.active.working.busy");
    expect(prompts(id)[1]).toBe(
      [
        "Automated message. The user did not write it, and it approves nothing.",
        "Your answer does not match the required JSON Schema:",
        '- "/files must be array"',
        "Answer again, with the whole JSON and nothing else: that answer replaces the one before.",
        "",
        NOTE,
        JSON.stringify(SCHEMA),
      ].join("\n"),
    );
    await answer(id, '{"files": ["a.ts"]}');
    expect(stage.task(id)).toMatchObject({ status: "completed", result: '{"files": ["a.ts"]}' });
    expect(stage.notices()).toHaveLength(1);
  });

  test("nor does the next one: the run ends in an error of kind schema, and the words are kept", async () => {
    const id = await stage.launch();
    await answer(id, "Two files.");
    await answer(id, "I said: two files.");
    expect(stage.task(id)).toMatchObject({
      status: "error",
      result: "I said: two files.",
      error: { kind: "schema", message: "The answer did not match the required JSON Schema: it is not JSON." },
    });
    expect(hiddenText()).toContain("The agent's last answer, which did not fit its schema, each line");
    expect(await stage.call("output", { task_id: id })).toContain("Its last answer, which did not fit its schema:");
    expect(stage.notices()).toHaveLength(1);
  });

  test("is given back once, too, where OpenCode is killed meanwhile", async () => {
    const id = await stage.launch();
    stage.host.habits(id, "lose");
    await answer(id, "Two files.");
    await stage.restart();
    stage.host.habits(id, "work");
    await clock.advance(10_000);
    expect(stage.task(id).state).toBe("running.active.working.busy");
    await answer(id, "Still two files.");
    expect(stage.task(id)).toMatchObject({ status: "error", error: { kind: "schema" } });
    const given = stage.host.at(id).messages.filter(({ role }) => role === "user");
    expect(given).toHaveLength(2);
    expect(stage.notices(PARENT)).toHaveLength(1);
  });
});

test("the result of an agent without a schema may be any text", async () => {
  const id = await stage.launch({ agent: "explore" });
  expect(prompts(id)[0]).not.toContain("JSON");
  await answer(id, "12");
  expect(stage.task(id)).toMatchObject({ status: "completed", result: "12" });
});

describe("OpenCode that ends while an answer is compared with its schema, which may be what ends it,", () => {
  const restartInCheck = async (id: string) => {
    await stage.restart();
    await clock.advance(1_000);
    return stage.task(id);
  };

  test("compares it again twice; the third time in a row the run ends, and the answer is kept", async () => {
    const id = await stage.launch();
    diesInCheck = true;
    await answer(id, '{"files":[]}');
    for (let end = 0; end < 2; end += 1) expect(await restartInCheck(id)).toMatchObject({ status: "running" });
    expect(await restartInCheck(id)).toMatchObject({
      status: "error",
      result: '{"files":[]}',
      error: {
        kind: "schema",
        message:
          "The answer was not compared with its JSON Schema to the end: OpenCode ended 3 times in a row meanwhile.",
      },
    });
    expect(stage.notices()).toHaveLength(1);
  });

  test("counts ends anew for the next answer", async () => {
    const id = await stage.launch();
    diesInCheck = true;
    await answer(id, "none");
    for (let end = 0; end < 2; end += 1) {
      diesInCheck = end === 0;
      await restartInCheck(id);
    }
    expect(stage.task(id).state).toBe("running.active.working.busy");
    diesInCheck = true;
    await answer(id, '{"files":[]}');
    for (let end = 0; end < 2; end += 1) expect(await restartInCheck(id)).toMatchObject({ status: "running" });
    diesInCheck = false;
    expect(await restartInCheck(id)).toMatchObject({ status: "error", error: { kind: "schema" } });
  });
});
