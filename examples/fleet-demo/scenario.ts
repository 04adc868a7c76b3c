import { type ModelRequest, toolResults } from "../../test/e2e/lab/model-request.ts";
import { calls, hang, type Reply, type ScriptedCall, text } from "../../test/e2e/lab/reply.ts";
import type { ScriptedModel } from "../../test/e2e/lab/scripted-model.ts";
import { inChild } from "../../test/e2e/tasks-and-notices.ts";

/** What the person asks of their agent. */
export const QUESTION = "Check the tea shop before we open. Others may do the work.";

/** One task: what the agent delegates, and what a subagent's model answers, wherever it works. */
interface Role {
  description: string;
  prompt: string;
  answer(request: ModelRequest): Reply;
}

/** The server that works on this task is killed in the middle of it. */
export const DOOMED = "Taste every tea";

const bash = (description: string, command: string): ScriptedCall => ({ name: "bash", args: { description, command } });

/** Runs one command, and says what came of it. */
const commanding =
  (command: ScriptedCall, said: (output: string) => string, delayMs: number) =>
  (request: ModelRequest): Reply => {
    const [result] = toolResults(request);
    return result ? text(said(result.output), { delayMs }) : calls([command], { delayMs: 500 });
  };

const firstLine = (output: string): string => output.trim().split("\n")[0] ?? "";

const ROLES: readonly Role[] = [
  {
    description: "Count the code",
    prompt: "How many lines of code is it?",
    answer: commanding(bash("counts", "cat src/*.ts | wc -l"), (output) => `${firstLine(output)} lines.`, 1_500),
  },
  {
    description: "Write the news",
    prompt: "Write into NEWS.md that we open.",
    answer: commanding(bash("writes", "echo 'We open.' > NEWS.md"), () => "NEWS.md says it.", 2_500),
  },
  {
    description: "Find the oldest tea",
    prompt: "Which tea is the first of prices.json?",
    answer: commanding(bash("reads", "cat prices.json"), (output) => `It stands in ${firstLine(output)}`, 3_500),
  },
  { description: DOOMED, prompt: "Taste them all. That takes long.", answer: tasting() },
];

/** How many tasks the agent launches. */
export const TASKS = ROLES.length;

/** The first server that tastes never comes to an end; the next one does. */
function tasting() {
  const endless = hang();
  let first: string | undefined;
  return ({ sessionID }: ModelRequest): Reply => {
    first ??= sessionID;
    return sessionID === first ? endless : text("All of them are good.", { delayMs: 1_500 });
  };
}

/** Teaches the model the whole play, in which `leader` is the session of the person's agent. */
export function rehearse(model: ScriptedModel, leader: string): void {
  for (const { prompt, answer } of ROLES) model.when(inChild(prompt), answer);
  model.when(({ sessionID }) => sessionID === leader, leadingAgent);
}

/** The person's agent: delegates at once, and waits for the results. */
function leadingAgent(request: ModelRequest): Reply {
  if (toolResults(request).length > 0) return text("waiting");
  const launches = ROLES.map(({ description, prompt }) => ({
    name: "asyncagents_task",
    args: { description, prompt, agent: "general" },
  }));
  return calls(launches, { text: "Four things to do. I hand them out." });
}
