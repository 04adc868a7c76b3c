import { estimateTokenCount } from "tokenx";
import { expect, test } from "vitest";
import { type Lab, startLab } from "./lab/lab.ts";
import { toolResults } from "./lab/model-request.ts";
import { calls, hang, text } from "./lab/reply.ts";
import { setUp } from "./lab/set-up.ts";
import { inChild, launchFrom, notified, ours } from "./tasks-and-notices.ts";

let lab: Lab;

setUp(async () => {
  lab = await startLab();
  return () => lab.stop();
});

/** Has the parent's agent call this tool eight times, one after the other. Resolves to the tokens of each answer. */
const pollWith = async (parent: string, tool: string, args: object): Promise<number[]> => {
  const word = `poll ${tool} ${JSON.stringify(args)}`;
  const polls = Array.from({ length: 8 }, () => calls([ours(tool, { ...args })]));
  lab.model.when(word, [...polls, text("They still run.")]);
  await lab.ask(parent, word);
  const last = lab.model.requests.findLast(({ sessionID }) => sessionID === parent);
  return last
    ? toolResults(last)
        .slice(-8)
        .map(({ output }) => estimateTokenCount(output))
    : [];
};

test("an agent that polls five tasks pays for two answers, and then for a sentence each time", async () => {
  const prompts = ["count tests", "read docs", "find dead code", "list options", "draw rooms"];
  const parent = await lab.session();
  const held = hang();
  for (const prompt of prompts) lab.model.when(inChild(prompt), held);
  const tasks = await launchFrom(lab, parent, prompts);
  for (const [tool, args] of [
    ["list", {}],
    ["output", { task_id: tasks[0] }],
  ] as const) {
    const tokens = await pollWith(parent, tool, args);
    const [full = 0] = tokens;
    const sum = tokens.reduce((all, one) => all + one);
    console.log(`${tool}: ${tokens.join(", ")} tokens: ${sum} in all, and ${8 * full} with eight answers in full`);
    expect(tokens).toHaveLength(8);
    for (const later of tokens.slice(2)) expect(later).toBeLessThan(0.75 * full);
  }
  held.release(text("done"));
  expect(await notified(lab, parent, tasks)).toHaveLength(5);
});
