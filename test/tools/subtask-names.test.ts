import fc from "fast-check";
import { expect, test } from "vitest";
import { subtaskNames } from "../../src/tools/subtasks/subagents.ts";

const nameOf = (agent: string, others: string[] = []) => subtaskNames([agent, ...others]).get(agent);

test("an agent's name stands in its tool's name as it is, where that is safe", () => {
  expect(nameOf("general")).toBe("create_subtask_general");
  expect(nameOf("code-review_2")).toBe("create_subtask_code-review_2");
});

test("what providers refuse in a name becomes _, what is too long is cut, and either is marked", () => {
  expect(nameOf("Baruch (executor)")).toMatch(/^create_subtask_Baruch_executor_[0-9a-f]{6}$/);
  expect(nameOf("研究")).toMatch(/^create_subtask_agent_[0-9a-f]{6}$/);
  expect(nameOf("a".repeat(80))).toMatch(/^create_subtask_a{42}_[0-9a-f]{6}$/);
});

test("names that come out the same when made safe are told apart, and none changes with the others", () => {
  const names = subtaskNames(["my agent", "my_agent", "my.agent"]);
  expect(names.get("my_agent")).toBe("create_subtask_my_agent");
  expect(new Set(names.values()).size).toBe(3);
  for (const agent of names.keys()) expect(nameOf(agent)).toBe(names.get(agent));
});

test("an agent that is called as another's tool keeps its name, and the other gets a longer mark", () => {
  const taken = nameOf("my agent")?.slice("create_subtask_".length) ?? "";
  expect(nameOf(taken, ["my agent"])).toBe(`create_subtask_${taken}`);
  expect(nameOf("my agent", [taken])).toMatch(/^create_subtask_my_agent_[0-9a-f]{24}$/);
});

test("whatever the agents are called, every one has a safe name of its own", () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string({ minLength: 1, unit: "grapheme" }), { maxLength: 8 }), (agents) => {
      const names = subtaskNames(agents);
      expect([...names.keys()].sort()).toEqual([...agents].sort());
      expect(new Set(names.values()).size).toBe(agents.length);
      for (const name of names.values()) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    }),
  );
});
