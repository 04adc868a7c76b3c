import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ModelRequest, toolResults } from "../../test/e2e/lab/model-request.ts";
import { calls, failure, type Reply, text } from "../../test/e2e/lab/reply.ts";
import type { Script, ScriptedModel } from "../../test/e2e/lab/scripted-model.ts";

/** What the person asks of their agent. */
export const QUESTION = "Get the tea shop ready for release. Split the work.";

/** How the play must end: this many tasks of each outcome. */
export const EXPECTED = { completed: 2, error: 1, cancelled: 1 } as const;

/** How many tasks the agent launches. */
export const TASKS = EXPECTED.completed + EXPECTED.error + EXPECTED.cancelled;

/** One task: what the agent delegates, and what the subagent's model answers, request by request. */
type Role = { description: string; agent: string; prompt: string; script: Script };

/** Makes a folder with something in it to read and count. Resolves to its path. */
export async function makeProject(home: string): Promise<string> {
  const project = join(home, "project");
  await mkdir(join(project, "src"), { recursive: true });
  const files = {
    "CHANGELOG.md": "# Tea shop\n\n- 2.0 takes cards\n- 1.1 remembers the basket\n- 1.0 sells tea\n",
    "prices.json": '{ "assam": 7.5, "sencha": 9, "rooibos": 6 }\n',
    "src/basket.ts": "export const basket: string[] = [];\n".repeat(48),
    "src/till.ts": "export const total = (prices: number[]) => prices.reduce((a, b) => a + b, 0);\n".repeat(27),
  };
  await Promise.all(Object.entries(files).map(([name, content]) => writeFile(join(project, name), content)));
  return project;
}

/** Teaches the model the whole play. The tools that it calls are real and work in `project`. */
export function rehearse(model: ScriptedModel, project: string): void {
  const roles = rolesIn(project);
  for (const { prompt, script } of roles) model.when(prompt, script);
  model.when(
    ({ parentSessionID }) => parentSessionID === undefined,
    (request) => leadingAgent(request, roles),
  );
}

function rolesIn(project: string): Role[] {
  const read = (name: string) => ({ name: "read", args: { filePath: join(project, name) } });
  const bash = (description: string, command: string) => ({ name: "bash", args: { description, command } });
  return [
    {
      description: "Summarise the changelog",
      agent: "explore",
      prompt: "What is new in the shop? Read its changelog.",
      script: [
        calls([read("CHANGELOG.md")], { delayMs: 900 }),
        calls([read("src/till.ts")], { delayMs: 1200 }),
        text("New in 2.0: the shop takes cards. It remembers the basket since 1.1.", {
          delayMs: 700,
          chunkDelayMs: 60,
        }),
      ],
    },
    {
      description: "Count lines of code",
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
      agent: "general",
      prompt: "Search every revision for the first mention of rooibos.",
      // Endless but for the end of OpenCode itself, which leaves its shells behind when it is stopped.
      script: calls([bash("searches, endlessly", "while kill -0 $PPID; do sleep 0.5; done")], { delayMs: 500 }),
    },
  ];
}

/** The person's agent: delegates everything at once, thinks better of the last task, then waits to be told. */
function leadingAgent(request: ModelRequest, roles: Role[]): Reply {
  const results = toolResults(request);
  if (results.length === 0) {
    const launches = roles.map(({ script: _, ...args }) => ({ name: "asyncagents_task", args }));
    return calls(launches, { delayMs: 400, text: "Four things to find out. I hand them out and go on." });
  }
  if (!results.some(({ name }) => name === "asyncagents_cancel")) {
    const task_id = /ses_\w+/.exec(results.at(-1)?.output ?? "")?.[0];
    const cancel = { name: "asyncagents_cancel", args: { task_id } };
    return calls([cancel], { delayMs: 2900, text: "All of history is too much; the changelog will do." });
  }
  const told = JSON.stringify(request.messages).split("Automated notice.").length - 1;
  return text(told < roles.length ? "waiting" : "All four have ended; the shop can open.", { delayMs: 400 });
}
