import { styleText } from "node:util";
import { executable, MISSING } from "../../test/fakes/nats-process.ts";
import { unless } from "../demo/play.ts";
import { toWidth } from "../demo/screen.ts";
import { type Ending, play, problemsOf } from "./play.ts";
import { TASKS } from "./scenario.ts";
import { LEASE, setStage } from "./servers.ts";

const HELP = `Usage: npm run fleet:demo

Three OpenCode servers on this machine: an agent of one launches four background tasks, the other two work on
them. One of those is killed in the middle of a task, which the other begins anew. Each result is delivered once.
OpenCode, the plugin and nats-server are real. The model is scripted, so no key and no network are needed.`;

/** Seconds until it gives up. */
const LIMIT = 150;

const say = (...lines: string[]) => process.stdout.write(`${lines.join("\n")}\n`);
const dim = (text: string) => styleText("gray", text);
const bold = (text: string) => styleText("bold", text);

process.exitCode = await main(process.argv.slice(2));

/** Resolves to the exit code: 0 when everything was as expected, 1 when not, 2 where it cannot begin, 130 after Ctrl-C. */
async function main(args: string[]): Promise<number> {
  if (args.length > 0) {
    say(HELP);
    return args.every((arg) => arg === "--help") ? 0 : 2;
  }
  if (!executable) {
    process.stderr.write(`${MISSING}\n`);
    return 2;
  }
  const interruption = new AbortController();
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(name, () => interruption.abort());
  try {
    return await demo(AbortSignal.any([interruption.signal, AbortSignal.timeout(LIMIT * 1_000)]));
  } catch (error) {
    if (interruption.signal.aborted) {
      say("", "Stopped. All servers have ended, and their folders are removed.");
      return 130;
    }
    process.stderr.write(`\nThe demo failed: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
}

/** Runs the demo in temporary folders, and leaves nothing behind. */
async function demo(signal: AbortSignal): Promise<number> {
  const began = Date.now();
  const tell = (who: string, words: string) =>
    say(`${`${((Date.now() - began) / 1_000).toFixed(1)}s`.padStart(7)}  ${toWidth(who, 20)} ${words}`);
  say("", bold("Three servers, four background tasks"), "");
  say(dim("  OpenCode, the plugin and nats-server are real; the model is scripted."), "");
  const stage = await setStage();
  const starting: Promise<unknown>[] = [];
  try {
    tell("nats-server", `runs at ${stage.broker.url}; lease ${LEASE / 1_000} s`);
    const start = (name: string, fleet: object) => {
      const server = stage.start(name, fleet);
      starting.push(server);
      return unless(signal, server);
    };
    const origin = await start("laptop", { offer: ["general"] });
    tell("laptop", "launches tasks of the agent general for others");
    const workers = [await start("desk", { work: 4 }), await start("tower", { work: 4 })];
    for (const { name } of workers) tell(name, "works on up to 4 tasks of others");
    const ending = await play(stage, origin, workers, tell, signal);
    say("", bold("How each task ended"), "", ...tableLines(ending), "");
    return verdict(ending);
  } finally {
    // A server that is still starting can only be stopped once it has started.
    await Promise.allSettled(starting);
    await stage.clear();
  }
}

function tableLines({ tasks, notices }: Ending): string[] {
  const row = (...cells: string[]) =>
    `  ${cells.map((cell, index) => toWidth(cell, [20, 11, 10, 6, 9][index] ?? 0)).join("  ")}`.trimEnd();
  return [
    dim(row("task", "status", "worked on", "begun", "delivered")),
    ...tasks.map(({ id, description, status, server = "", begun }) => {
      const times = notices.filter(({ taskId }) => taskId === id).length;
      return row(description, status, server, `${begun}×`, `${times}×`);
    }),
  ];
}

function verdict(ending: Ending): number {
  const problems = problemsOf(ending);
  const words =
    problems.length === 0
      ? `${TASKS} tasks, ${ending.killed} killed in the middle: ${TASKS} results, each delivered once.`
      : `Not as expected: ${problems.join("; ")}.`;
  say(styleText(["bold", problems.length === 0 ? "green" : "red"], words));
  return problems.length === 0 ? 0 : 1;
}
