import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ModelRequest, toolResults } from "../../test/e2e/lab/model-request.ts";
import { calls, failure, type Reply, type ScriptedCall, text } from "../../test/e2e/lab/reply.ts";
import type { Script, ScriptedModel } from "../../test/e2e/lab/scripted-model.ts";

/** What the person asks of their agent. */
export const QUESTION = "Get the tea shop ready for release. Split the work.";

/** How the play must end: this many runs of each outcome, and this many of them forked or resumed. */
export const EXPECTED = { completed: 3, error: 1, cancelled: 1, forked: 1, resumed: 1 } as const;

/** How many runs must end. A resumed task has one more. */
export const RUNS = EXPECTED.completed + EXPECTED.error + EXPECTED.cancelled;

/** How many tasks the agent launches. */
export const TASKS = RUNS - EXPECTED.resumed;

/** One task: what the agent delegates, and what the subagent's model answers, request by request. */
type Role = { description: string; agent: string; prompt: string; fork?: boolean; script: Script };

const read = (filePath: string): ScriptedCall => ({ name: "read", args: { filePath } });
const bash = (description: string, command: string): ScriptedCall => ({ name: "bash", args: { description, command } });

const ROLES: Role[] = [
  {
    description: "Count the code",
    agent: "general",
    prompt: "How much code is it, file by file?",
    script: [
      calls([read("src/basket.ts")], { delayMs: 600 }),
      calls([bash("counts, slowly", "for f in src/*.ts; do sleep 1; wc -l $f; done")], { delayMs: 900 }),
      calls([read("src/till.ts")], { delayMs: 700 }),
      text("basket.ts has 48 lines and till.ts 27: 75 in all.", { delayMs: 600, chunkDelayMs: 60 }),
    ],
  },
  {
    description: "Check prices online",
    agent: "general",
    prompt: "Are our prices still right? Compare them with the market.",
    script: [calls([read("prices.json")], { delayMs: 1000 }), failure(401, "Incorrect API key")],
  },
  {
    description: "Search all history",
    agent: "explore",
    prompt: "Search every revision for the first mention of rooibos.",
    // Endless but for the end of OpenCode itself, which leaves its shells behind when it is stopped.
    script: calls([bash("searches, endlessly", "while kill -0 $PPID; do sleep 0.5; done")], { delayMs: 500 }),
  },
  {
    description: "Write the news",
    agent: "general",
    fork: true,
    prompt: "Tell our customers in a line or two what is new.",
    script: announce,
  },
];

/** What the agent asks of a task that has completed. Only who knows the first question can tell what is meant. */
const FOLLOW_UP: Pick<Role, "description" | "prompt" | "script"> = {
  description: "Count the code",
  prompt: "And in bytes?",
  script: [
    calls([bash("counts bytes", "sleep 0.5; wc -c src/*.ts")], { delayMs: 600 }),
    text("basket.ts has 1728 bytes and till.ts 2106: 3834 in all.", { delayMs: 500, chunkDelayMs: 40 }),
  ],
};

/** Makes a folder with something in it to read and count. */
export async function makeProject(home: string): Promise<void> {
  const project = join(home, "project");
  await mkdir(join(project, "src"), { recursive: true });
  const files = {
    "CHANGELOG.md": "# Tea shop\n\n- 2.0 takes cards\n- 1.1 remembers the basket\n- 1.0 sells tea\n",
    "prices.json": '{ "assam": 7.5, "sencha": 9, "rooibos": 6 }\n',
    "src/basket.ts": "export const basket: string[] = [];\n".repeat(48),
    "src/till.ts": "export const total = (prices: number[]) => prices.reduce((a, b) => a + b, 0);\n".repeat(27),
  };
  await Promise.all(Object.entries(files).map(([name, content]) => writeFile(join(project, name), content)));
}

/** Teaches the model the whole play, in which `leader` is the session of the person's agent. */
export function rehearse(model: ScriptedModel, leader: string): void {
  for (const { prompt, script } of [...ROLES, FOLLOW_UP]) model.when(prompt, script);
  // Not "whoever has no parent": to OpenCode a forked session has none either.
  model.when(({ sessionID }) => sessionID === leader, leadingAgent);
}

/** The forked task: has read nothing itself, and quotes what its parent has read. */
function announce(request: ModelRequest): Reply {
  const news = /2\.0 (.*)/.exec(toolResults(request)[0]?.output ?? "")?.[1];
  if (news === undefined) return failure(400, "It does not see the conversation");
  return text(`Our tea shop now ${news}. Come in and try it!`, { delayMs: 2600, chunkDelayMs: 120 });
}

/** The person's agent: delegates at once, cancels one task after all, waits for the results, and asks a follow-up question. */
function leadingAgent(request: ModelRequest): Reply {
  const results = toolResults(request);
  const called = (tool: string) => results.some(({ name }) => name === tool);
  if (!called("read")) return calls([read("CHANGELOG.md")], { delayMs: 300, text: "What is new? I look it up." });
  if (!called("asyncagents_task")) {
    const launches = ROLES.map(({ script: _, ...args }) => ({ name: "asyncagents_task", args }));
    return calls(launches, { delayMs: 300, text: "Four things to do. I hand them out and go on." });
  }
  if (!called("asyncagents_cancel")) {
    const cancel = { name: "asyncagents_cancel", args: { task_id: idOf("Search all history", results) } };
    return calls([cancel], { delayMs: 2900, text: "All of history is too much; the changelog will do." });
  }
  // One message may deliver several ends: each has a line of its own.
  const delivered =
    JSON.stringify(request.messages).match(/Task ses_\w+ (?:completed|failed|was cancelled)/g)?.length ?? 0;
  if (delivered === TASKS && !results.some(({ output }) => output.includes("was resumed"))) {
    const args = { resume: idOf(FOLLOW_UP.description, results), prompt: FOLLOW_UP.prompt };
    return calls([{ name: "asyncagents_task", args }], { delayMs: 400, text: "One more question on the code." });
  }
  return text(delivered < RUNS ? "waiting" : "All is done; the shop can open.", { delayMs: 400 });
}

/** The id of the task with that description, from the answer to its launch. */
function idOf(description: string, results: { output: string }[]): string | undefined {
  const launch = results.find(({ output }) => output.includes(`"${description}"`));
  return /ses_\w+/.exec(launch?.output ?? "")?.[0];
}
