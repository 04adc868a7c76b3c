import { describe, expect, test } from "vitest";
import { createStage, PARENT, type Stage, stageWithResult } from "../fakes/stage.ts";
import { settled } from "../fakes/virtual-clock.ts";
import { watched } from "../fakes/watched.ts";

const all = () => createStage({ toolsets: ["tasks", "elisha", "subtasks"] });

const ARGS = { title: "count files", description: "count files", agent: "general", prompt: "Count the files." };

const DENIED = 'The user has specified a rule which prevents you from using this specific tool call: "task"';

/** How the host answers when it is asked for a permission. */
const deny = async () => {
  throw new Error(DENIED);
};

const sessions = (stage: Stage) => stage.host.sessionIDs();

describe.each(["asyncagents_task", "elisha_task", "create_subtask_general"])("%s", (tool) => {
  test("asks the host whether this agent may use that one, before anything is made", async () => {
    const stage = all();
    const asked: unknown[] = [];
    void stage.call(tool, ARGS, {
      ask: async (request) => {
        expect(sessions(stage)).toEqual([PARENT]);
        asked.push(request);
      },
    });
    await settled();
    expect(asked).toEqual([
      {
        permission: "task",
        patterns: ["general"],
        always: ["*"],
        metadata: { description: "count files", subagent_type: "general" },
      },
    ]);
    expect(stage.engine.list({})).toHaveLength(1);
  });

  test("makes nothing where it may not, and passes the host's words on", async () => {
    const stage = all();
    const words = await stage.call(tool, ARGS, { ask: deny }).catch(String);
    if (tool === "elisha_task")
      expect(JSON.parse(words)).toEqual({ status: "failed", error: DENIED, code: "SESSION_ERROR" });
    else expect(words).toBe(`Error: ${DENIED}`);
    expect(sessions(stage)).toEqual([PARENT]);
  });

  test("does not ask for what is refused anyway", async () => {
    const stage = all();
    stage.host.agentList = stage.host.agentList.filter(({ name }) => name !== "general");
    const asked: unknown[] = [];
    const ask = async (request: unknown) => void asked.push(request);
    for (const args of [ARGS, { ...ARGS, title: " ", description: " " }])
      await stage.call(tool, args, { ask }).catch(String);
    expect(asked).toEqual([]);
    expect(sessions(stage)).toEqual([PARENT]);
  });

  test("makes nothing where the parent is deleted while a person is asked", async () => {
    const stage = all();
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    const call = watched(stage.call(tool, ARGS, { ask: () => answered }));
    await settled();
    stage.host.delete(PARENT);
    answer();
    await settled();
    expect(`${call.value}${call.fault}`).toContain("OpenCode did not find the calling session");
    expect(sessions(stage)).toEqual([]);
  });

  test("does not ask where a person has named the agent in the prompt", async () => {
    const stage = all();
    void stage.call(tool, ARGS, { ask: deny, extra: { bypassAgentCheck: true } });
    await settled();
    expect(stage.engine.list({})).toHaveLength(1);
  });

  test("makes nothing when the turn is aborted while the person is asked, and answers at once", async () => {
    const stage = all();
    const turn = new AbortController();
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    const call = watched(stage.call(tool, ARGS, { abort: turn.signal, ask: () => answered }));
    await settled();
    turn.abort();
    await settled();
    expect(`${call.value}${call.fault}`).toMatch(/turn was aborted; (nothing|no subtask) was launched/);
    answer();
    await settled();
    expect(sessions(stage)).toEqual([PARENT]);
  });
});

test.each(["task", "create_subtask_general", "elisha_task"])(
  "%s asks for the permission that the option names",
  async (tool) => {
    const stage = createStage({ toolsets: ["tasks", "elisha", "subtasks"], permission: "asyncagents_task" });
    const asked: string[] = [];
    void stage.call(tool, ARGS, { ask: async ({ permission }) => void asked.push(permission) });
    await settled();
    expect(asked).toEqual(["asyncagents_task"]);
  },
);

test("a resume asks for the task's own agent, and sends nothing where it may not be used", async () => {
  const { stage, id } = await stageWithResult("12");
  const resume = { resume: id, prompt: "And in b?" };
  await expect(stage.call("task", resume, { ask: deny })).rejects.toThrow(DENIED);
  expect(stage.task(id)).toMatchObject({ status: "completed", resumeCount: 0 });
  const asked: string[][] = [];
  await stage.call("task", resume, { ask: async ({ patterns }) => void asked.push(patterns) });
  expect(asked).toEqual([["general"]]);
  expect(stage.task(id)).toMatchObject({ status: "resumed" });
  // What cannot be resumed, or not so, needs nobody's permission.
  const ask: () => Promise<void> = () => expect.unreachable("a person was asked");
  await expect(stage.call("task", resume, { ask })).rejects.toThrow("cannot be resumed");
  await expect(stage.call("task", { ...resume, prompt: " " }, { ask })).rejects.toThrow("The prompt is empty");
});
