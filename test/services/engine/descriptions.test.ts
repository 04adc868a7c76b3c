import { describe, expect, test } from "vitest";
import { toTask } from "../../../src/machines/task/view.ts";
import { noProgress } from "../../../src/task.ts";
import { createStage, PARENT, stageWithTask } from "../../fakes/stage.ts";
import { settled } from "../../fakes/virtual-clock.ts";
import { scriptTask } from "../store/scripted-task.ts";
import { wholeTasks } from "../store/whole-tasks.ts";

const HOSTILE = "find\u001b]0;x\u0007\n\0it\u202e\u200b\ud83d";

describe("a description of a megabyte, with what terminals obey in it", () => {
  const description = `${HOSTILE} ${"word ".repeat(200_000)}`;
  const kept = (text: string) => {
    expect(text).toMatch(/^find \]0;x it word word .*…$/);
    expect(text.length).toBeLessThanOrEqual(201);
  };

  test("is cut to a line, and its prompt is kept whole, by the toolset tasks", async () => {
    const { stage, id } = await stageWithTask({}, { description, prompt: description });
    kept(stage.task(id).description);
    expect(stage.task(id).prompt).toBe(description);
    await stage.finish(id, "12");
    expect(
      stage
        .notices()
        .flat()
        .reduce((sum, { text }) => sum + text.length, 0),
    ).toBeLessThan(2_000);
  });

  test("by the toolset elisha", async () => {
    const stage = createStage({ toolsets: ["elisha"] });
    const answer = await stage.call("elisha_task", {
      title: description,
      agent: "general",
      prompt: description,
      async: true,
    });
    kept(JSON.parse(answer).title);
    const [task] = wholeTasks(stage.store);
    expect(task?.prompt).toBe(description);
  });

  test("and by the toolset subtasks, whose prompt it is where no other is given", async () => {
    const stage = createStage({ toolsets: ["subtasks"] });
    const call = stage.call("create_subtask_general", { title: description });
    await settled();
    const [task] = wholeTasks(stage.store);
    kept(task?.description ?? "");
    expect(task?.prompt).toBe(description);
    stage.host.finish(task?.sessionID ?? "", "12");
    await call;
  });
});

test.each(["asyncagents_task", "elisha_task", "create_subtask_general"])(
  "a person who is asked whether %s may be used is shown one line of it",
  async (tool) => {
    const stage = createStage({ toolsets: ["tasks", "elisha", "subtasks"] });
    const shown: unknown[] = [];
    const args = { title: HOSTILE, description: HOSTILE, agent: "general", prompt: "Find it." };
    void stage.call(tool, args, { ask: async ({ metadata }) => void shown.push(metadata.description) });
    await settled();
    expect(shown).toEqual(["find ]0;x it"]);
  },
);

test("a description of nothing visible is none", async () => {
  await expect(createStage().launch({ description: "\u200b\u202e\u3164\0" })).rejects.toThrow(/not described/);
});

test("one that an older version stored is shown cut, too", () => {
  const { snapshot } = scriptTask("ses_1", { description: `${HOSTILE} ${"x".repeat(1_000)}` }).record();
  const { description } = toTask(snapshot, noProgress("2026-01-01T00:00:00.000Z"));
  expect(description).toMatch(/^find \]0;x it x+…$/);
  expect(description).toHaveLength(201);
});

test.each(["a\nb", "a\u001bb", "x".repeat(101)])(
  "a batch cannot be called %j: nothing is launched",
  async (batch_id) => {
    const stage = createStage();
    await expect(stage.launch({ batch_id })).rejects.toThrow(/cannot be a batch_id: give one line of at most 100/);
    expect(stage.engine.list({ parentSessionID: PARENT })).toEqual([]);
    expect(stage.task(await stage.launch({ batch_id: "all the tests" })).batchId).toBe("all the tests");
  },
);
