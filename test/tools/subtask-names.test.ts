import fc from "fast-check";
import { expect, test } from "vitest";
import { subtaskNames } from "../../src/tools/subtasks/names.ts";

const nameOf = (agent: string, others: string[] = []) => subtaskNames([agent, ...others]).names.get(agent);

test("an agent's name stands in its tool's name as it is, where that is safe", () => {
  expect(nameOf("general")).toBe("create_subtask_general");
  expect(nameOf("code-review_2")).toBe("create_subtask_code-review_2");
});

test("what providers refuse in a name becomes _, and what is too long is cut and marked", () => {
  expect(nameOf("Baruch (executor)")).toBe("create_subtask_Baruch_executor");
  expect(nameOf("team/reviewer")).toBe("create_subtask_team_reviewer");
  expect(nameOf("研究")).toMatch(/^create_subtask_agent_[0-9a-f]{6}$/);
  expect(nameOf("a".repeat(80))).toMatch(/^create_subtask_a{42}_[0-9a-f]{6}$/);
});

test("of two names that come out the same, the one that needed no change keeps it; it is said which is which", () => {
  const { names, clashes } = subtaskNames(["my agent", "my_agent", "my.agent"]);
  expect(names.get("my_agent")).toBe("create_subtask_my_agent");
  expect(names.get("my agent")).toMatch(/^create_subtask_my_agent_[0-9a-f]{6}$/);
  expect(names.get("my.agent")).not.toBe(names.get("my agent"));
  expect(clashes).toEqual([["my agent", "my_agent", "my.agent"]]);
});

test("whatever the agents are called, every one has a safe name of its own, and the same one whatever their order", () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string({ minLength: 1, unit: "grapheme" }), { maxLength: 8 }), (agents) => {
      const { names } = subtaskNames(agents);
      expect([...names.keys()].sort()).toEqual([...agents].sort());
      expect(new Set(names.values()).size).toBe(agents.length);
      for (const name of names.values()) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      const { names: reversed } = subtaskNames(agents.toReversed());
      for (const agent of agents) expect(reversed.get(agent)).toBe(names.get(agent));
    }),
  );
});
