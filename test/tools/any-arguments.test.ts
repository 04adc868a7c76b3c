import fc from "fast-check";
import { expect, test } from "vitest";
import { TaskResult } from "../../src/tools/elisha/elisha-toolset.ts";
import { SubtaskResult } from "../../src/tools/subtasks/subtasks-toolset.ts";
import { createStage, type Stage } from "../fakes/stage.ts";
import { settled } from "../fakes/virtual-clock.ts";
import { watched } from "../fakes/watched.ts";
import { pureRuns } from "../seed.ts";

/** The fixed seed of all runs: a red one is red for everybody. */
const RUNS = { seed: 20_261_122, numRuns: pureRuns(300) };

const TOOLS: Record<string, string[]> = {
  asyncagents_task: ["description", "prompt", "agent", "batch_id", "resume", "retry", "fork"],
  asyncagents_output: ["task_id", "batch_id", "block", "timeout", "full_session", "message_limit", "since_message_id"],
  asyncagents_list: ["status"],
  asyncagents_cancel: ["task_id", "batch_id", "all"],
  asyncagents_clear: ["task_id", "batch_id"],
  elisha_task: ["title", "agent", "prompt", "async"],
  elisha_task_output: ["task_id", "wait", "timeout", "offset"],
  elisha_task_cancel: ["task_id"],
  create_subtask_general: ["title", "intent", "artifactRefs", "priority"],
  read_subtask: ["taskId", "offset"],
};

const LAUNCHING = ["asyncagents_task", "elisha_task", "create_subtask_general"];

const NAMES = [...Object.values(TOOLS).flat(), "taskid", "subagent_type", "__proto__", "toString"];

/** What models send, and what nobody does. */
const value = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom("general", "ses_0001", "ses_0002", "ses_", "a", "", " ", "false", "true", "0", "Count."),
  },
  { weight: 2, arbitrary: fc.constantFrom(null, true, false, 0, -1, 1.5, 5, 1e300) },
  { weight: 2, arbitrary: fc.jsonValue() },
  { weight: 1, arbitrary: fc.array(fc.oneof(fc.string(), fc.record({ path: fc.string() })), { maxLength: 3 }) },
);

const argsOf = (tool: string) =>
  fc.oneof(
    { weight: 5, arbitrary: fc.dictionary(fc.constantFrom(...(TOOLS[tool] ?? [])), value, { maxKeys: 4 }) },
    { weight: 3, arbitrary: fc.dictionary(fc.constantFrom(...NAMES), value, { maxKeys: 4 }) },
    { weight: 1, arbitrary: fc.jsonValue() },
  );

/** What a JavaScript or zod error says, and what a careless template makes of a value. */
const LEAK =
  /TypeError|ReferenceError|is not a function|is not iterable|is not an object|Cannot (read|convert)|\[object |ZodError|invalid_type|unrecognized_keys|Invalid input|(?<!")\bundefined\b(?!")/;

/** The one value that says yes, also as a text. */
const isTrue = (sent: unknown) => sent === true || (typeof sent === "string" && sent.trim() === "true");

const own = (sent: unknown): Record<string, unknown> =>
  typeof sent === "object" && sent !== null && !Array.isArray(sent) ? { ...sent } : {};

const hasText = (sent: unknown) => typeof sent === "string" && sent.trim() !== "";

/** True where the arguments say by name that this task, or all, may be stopped, removed or resumed. */
const maySpoil = (tool: string, sent: unknown): boolean => {
  const { prompt, resume } = own(sent);
  if (tool === "asyncagents_task") return hasText(prompt) && hasText(resume);
  const { task_id, batch_id, all, ...others } = own(sent);
  if (Object.keys(others).length > 0 || Array.isArray(sent) || (sent !== null && typeof sent !== "object"))
    return false;
  const named = hasText(task_id) || hasText(batch_id);
  if (tool === "asyncagents_clear") return all === undefined && (named || (task_id ?? batch_id) === undefined);
  if (tool === "asyncagents_cancel") return named || isTrue(all);
  return tool === "elisha_task_cancel" && hasText(task_id);
};

/** True where the arguments hold all that a launch needs, in texts. */
const mayLaunch = (tool: string, sent: unknown): boolean => {
  const { description, title, prompt, agent, resume } = own(sent);
  if (tool === "create_subtask_general") return hasText(title);
  if (tool === "elisha_task") return [title, prompt, agent].every(hasText);
  return tool === "asyncagents_task" && ([description, prompt, agent].every(hasText) || hasText(resume));
};

/** What the tool says, be it an answer or an error; a call that waits is aborted. */
const saidBy = async (stage: Stage, tool: string, sent: unknown) => {
  const turn = new AbortController();
  const call = watched(stage.call(tool, sent as Record<string, unknown>, { abort: turn.signal, callID: "call_1" }));
  await settled();
  turn.abort();
  await settled();
  const { value, fault } = call;
  if (value === undefined) expect(fault).toBeInstanceOf(Error);
  return { value, words: value ?? String(fault) };
};

/** A session with a task that runs, and one that has ended. */
const withTasks = async () => {
  const stage = createStage({ toolsets: ["tasks", "elisha", "subtasks"] });
  return { stage, running: await stage.launch(), ended: await stage.complete("There are 12.") };
};

test("these are all the tools that there are", async () => {
  const stage = createStage({ toolsets: ["tasks", "elisha", "subtasks"] });
  const names = [...Object.keys(TOOLS), "create_subtask_explore"].sort();
  const listed = await stage.call("nowhere").catch(({ message }: Error) => message);
  expect(
    listed
      .replace(/^.* among /, "")
      .split(", ")
      .sort(),
  ).toEqual(names);
});

test.each(Object.keys(TOOLS))(
  "%s takes any JSON: it says in words what is wrong, and does nothing by accident",
  async (tool) => {
    let { stage, running, ended } = await withTasks();
    await fc.assert(
      fc.asyncProperty(argsOf(tool), async (sent) => {
        const { value, words } = await saidBy(stage, tool, sent);
        const launched = stage.engine.list({}).filter(({ sessionID }) => sessionID !== running && sessionID !== ended);
        const isSpoilt =
          stage.engine.get(running)?.status !== "running" || stage.engine.get(ended)?.status !== "completed";
        if (launched.length > 0 || isSpoilt) {
          stage.engine.stop();
          ({ stage, running, ended } = await withTasks());
        }
        expect(words).not.toMatch(LEAK);
        expect(words).not.toBe("");
        if (tool.startsWith("elisha")) TaskResult.parse(JSON.parse(value ?? "the tool threw"));
        if (tool.includes("subtask") && value !== undefined) SubtaskResult.parse(JSON.parse(value));
        if (!LAUNCHING.includes(tool) || !mayLaunch(tool, sent)) expect(launched).toEqual([]);
        if (!maySpoil(tool, sent)) expect(isSpoilt).toBe(false);
      }),
      RUNS,
    );
    stage.engine.stop();
  },
);
