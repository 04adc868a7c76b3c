import { parseArgs, styleText } from "node:util";
import { newHome, removeHome } from "../../test/e2e/lab/home.ts";
import { type Lab, startLab } from "../../test/e2e/lab/lab.ts";
import { nextBeat, play, unless } from "./play.ts";
import { noticeLines, noticesIn, problemsOf, tableLines } from "./report.ts";
import { makeProject, QUESTION, RUNS, rehearse, TASKS } from "./scenario.ts";
import { openScreen } from "./screen.ts";

const HELP = `Usage: npm run demo [-- --keep]

An agent launches four background tasks at once, one of them as a fork of its own conversation. Two
succeed, one fails, one is cancelled. At the end it resumes one that succeeded, with a follow-up question.
OpenCode, the plugin and the tools are real. The model is scripted, so no key and no network are needed.

  --keep   leave OpenCode running at the end, to look around in it, until Ctrl-C
  --help   show this`;

const NEXT = ["  To use it   README.md: Install", "  To look in  npm run demo -- --keep"];

const VERDICT = `${TASKS} tasks, one forked and one resumed: ${RUNS} results, each delivered once.`;

/** Seconds until it gives up. It usually takes about 14, of which OpenCode takes 2 to start. */
const LIMIT = 90;

const out = process.stdout;
const say = (...lines: string[]) => out.write(`${lines.join("\n")}\n`);
const dim = (text: string) => styleText("gray", text);
const bold = (text: string) => styleText("bold", text);

process.exitCode = await main(process.argv.slice(2));

/** Resolves to the exit code: 0 when everything was as expected, 1 when not, 2 for wrong arguments, 130 after Ctrl-C. */
async function main(args: string[]): Promise<number> {
  const flag = { type: "boolean", default: false } as const;
  let options: { keep: boolean; help: boolean };
  try {
    options = parseArgs({ args, options: { keep: flag, help: flag } }).values;
  } catch (error) {
    process.stderr.write(`${reasonOf(error)}\n\n${HELP}\n`);
    return 2;
  }
  if (options.help) {
    say(HELP);
    return 0;
  }
  const interruption = new AbortController();
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(name, () => interruption.abort());
  try {
    return await demo(options.keep, interruption.signal);
  } catch (error) {
    if (interruption.signal.aborted) {
      say("", "Stopped. OpenCode has ended and its folder is removed.");
      return 130;
    }
    process.stderr.write(`\nThe demo failed: ${reasonOf(error)}\n`);
    return 1;
  }
}

/** Runs the demo in a temporary home and leaves nothing behind. */
async function demo(keep: boolean, interruption: AbortSignal): Promise<number> {
  const signal = AbortSignal.any([interruption, AbortSignal.timeout(LIMIT * 1000)]);
  const home = await newHome();
  let starting: Promise<Lab> | undefined;
  const screen = openScreen(out);
  try {
    say("", bold("One agent, four background tasks"), "");
    say(dim("  OpenCode, the plugin and the tools are real; the model is scripted."));
    say("", `  > ${QUESTION}`, "");
    screen.announce("OpenCode starts …");
    await makeProject(home);
    starting = startLab({ home });
    const lab = await unless(signal, starting);
    const sessionID = await unless(signal, lab.session({ title: "One agent, four background tasks" }));
    rehearse(lab.model, sessionID);
    const timeline = await play(lab, sessionID, screen, signal);
    screen.close();
    const notices = noticesIn(await unless(signal, lab.messages(sessionID)));

    say("", bold("What was delivered to the agent"), "", ...noticeLines(notices));
    say(bold("How each task ended"), "", ...tableLines(timeline, notices), "");
    if (!keep) say(...NEXT, "");
    const problems = problemsOf(timeline, notices);
    if (problems.length === 0) say(styleText(["bold", "green"], VERDICT));
    else say(styleText(["bold", "red"], `Not as expected: ${problems.join("; ")}.`));
    if (keep) await keepRunning(lab, sessionID, interruption);
    return problems.length === 0 ? 0 : 1;
  } finally {
    screen.close();
    // An OpenCode that is still starting can only be stopped once it has started.
    await starting?.then((lab) => lab.stop()).catch(() => undefined);
    await removeHome(home);
  }
}

/** Explains how to look around, and waits for Ctrl-C. */
async function keepRunning(lab: Lab, sessionID: string, interruption: AbortSignal): Promise<void> {
  say("", "OpenCode is still running. In another terminal, in this folder:", "");
  say(`  npx opencode attach ${lab.opencode.url} --session ${sessionID}`, "");
  say("There, Ctrl-X and then ↓ opens a task, → the next one; ↑ leads back.");
  say("OpenCode does not list the forked task below its parent: Ctrl-X and then L finds it.", "Ctrl-C here ends it.");
  while (!interruption.aborted) {
    // Ctrl-C in a terminal reaches OpenCode as well, so its end is no error then.
    await nextBeat(lab, 200).catch((error: unknown) => {
      if (!interruption.aborted) throw error;
    });
  }
  say("", "OpenCode ends, and its folder is removed.");
}

function reasonOf(error: unknown): string {
  const overdue = error instanceof DOMException && error.name === "TimeoutError";
  if (overdue) return `it has not finished after ${LIMIT} s; the lines above show how far it got.`;
  return error instanceof Error ? error.message : String(error);
}
