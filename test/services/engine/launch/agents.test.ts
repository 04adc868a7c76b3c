import { expect, test } from "vitest";
import { createStage, PARENT, stageWithResult } from "../../../fakes/stage.ts";

const GHOST = { name: "ghost", hidden: true, model: undefined };

/** The agent that the newest child works with, and for which agents the caller was asked whether it may use them. */
const launched = async (agent: string, agents = [GHOST]) => {
  const stage = createStage();
  stage.host.agentList = [...stage.host.agentList, ...agents];
  const asked: string[] = [];
  const id = await stage.launch({ agent }, { ask: async ({ patterns }) => void asked.push(...patterns) });
  return { agent: stage.host.at(id).agent, ofTask: stage.task(id).agent, asked };
};

test("a hidden subagent is launched by its name", async () => {
  expect(await launched("ghost")).toEqual({ agent: "ghost", ofTask: "ghost", asked: ["ghost"] });
});

test("a name in another case is that of the only agent that has it so, also for the permission that is asked", async () => {
  expect(await launched("General")).toEqual({ agent: "general", ofTask: "general", asked: ["general"] });
  expect(await launched("GHOST")).toEqual({ agent: "ghost", ofTask: "ghost", asked: ["ghost"] });
});

test("of agents whose names differ by case alone, the exact one is meant, and another writing is refused", async () => {
  const twins = [GHOST, { ...GHOST, name: "Ghost", hidden: false }];
  expect((await launched("Ghost", twins)).agent).toBe("Ghost");
  await expect(launched("GHOST", twins)).rejects.toThrow(
    'There is no agent "GHOST". Agents: build, general, explore, Ghost.',
  );
});

test("the host's own helpers are nobody's to launch, and hidden agents are not suggested", async () => {
  await expect(launched("title")).rejects.toThrow('There is no agent "title". Agents: build, general, explore.');
});

test("a task is resumed under its agent's name in another case", async () => {
  const { stage, id } = await stageWithResult("12");
  await stage.call("task", { resume: id, prompt: "And now?", agent: "General" }, { sessionID: PARENT });
  expect(stage.task(id).resumeCount).toBe(1);
});
