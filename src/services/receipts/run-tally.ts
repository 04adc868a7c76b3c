import { isAbsolute, relative, sep } from "node:path";
import type { FileWrite, HostEvent, ToolCallEffect, ToolCallStage } from "../../machines/host-events.ts";
import type { GateResult, Incompleteness, RanCommand, Receipt, ToolCount, WrittenFile } from "../../receipt.ts";
import { addUp } from "../../task.ts";
import { truncateLine } from "../platform/plain-text.ts";

/** Creates the tally of what the host reports of one run. Each thing counts once, however often it is reported. */
export const createRunTally = () => {
  const calls = new Map<string, ObservedCall>();
  const steps = new Map<string, { tokens: number; cost: number }>();
  const changes = new Map<string, readonly string[]>();
  const messages = new Map<string, Span>();
  /** When a person was waited for: from the first of several requests until all are answered. */
  const requests: Span[] = [];
  let openRequests = 0;

  const endRequests = (at: number) => {
    const newest = requests.at(-1);
    if (newest) newest.to ??= at;
    openRequests = 0;
  };

  return {
    /** Takes an event of the child, or of a session below it that has no task of its own. `at` is epoch milliseconds. */
    onHostEvent: (event: HostEvent, at: number) => {
      switch (event.type) {
        case "toolCall": {
          const { sessionID, callID, tool, stage, effect } = event;
          const key = `${sessionID} ${callID}`;
          // That it began may be reported once more, later.
          if (stage !== "begun" || !calls.has(key)) calls.set(key, { tool, stage, effect });
          return;
        }
        case "step":
          steps.set(event.partID, { tokens: event.tokens, cost: event.cost });
          return;
        case "filesChanged":
          changes.set(event.partID, event.files);
          return;
        case "message": {
          const { id, role, createdAt, completedAt } = event.message;
          if (role === "assistant") messages.set(id, { from: createdAt, to: completedAt });
          return;
        }
        case "asked":
          if (openRequests === 0) requests.push({ from: at, to: undefined });
          openRequests += 1;
          return;
        case "replied":
          if (openRequests === 1) endRequests(at);
          openRequests = Math.max(0, openRequests - 1);
          return;
        case "idle":
          endRequests(at);
          return;
      }
    },
    /** Writes the receipt of the run, which ended. Times are epoch milliseconds. */
    receipt: (
      run: Pick<ObservedRun, "index" | "startedAt" | "endedAt" | "directory" | "isWhole" | "gate" | "incomplete">,
    ): Receipt =>
      composeReceipt({
        ...run,
        calls: [...calls.values()],
        steps: [...steps.values()],
        changedFiles: [...changes.values()].flat(),
        messages: [...messages.values()],
        requests,
      }),
  };
};

export type RunTally = ReturnType<typeof createRunTally>;

/** A tool call of a run, as far as it has come. */
interface ObservedCall {
  tool: string;
  stage: ToolCallStage;
  effect: ToolCallEffect | undefined;
}

/** Everything that was observed of a run that has ended. Times are epoch milliseconds, paths absolute. */
interface ObservedRun {
  index: number;
  startedAt: number;
  endedAt: number;
  /** Where the task works. */
  directory: string;
  isWhole: boolean;
  /** How the gate ended, if one did. */
  gate: GateResult | undefined;
  /** Why its result is not known to be the whole answer; undefined where it is, or there is none. */
  incomplete: Incompleteness | undefined;
  /** In the order in which they began. */
  calls: readonly ObservedCall[];
  steps: readonly { tokens: number; cost: number }[];
  /** Files that changed in the directory while its steps were under way. */
  changedFiles: readonly string[];
  /** When its messages were written. */
  messages: readonly Span[];
  /** When a person was waited for. */
  requests: readonly Span[];
}

/** Characters of a command that a receipt shows. */
const COMMAND_CHARS = 200;

/** How many entries each list of a receipt has at most: it is stored with the task, and again in its journal. */
const MOST = 50;

/** The host's name for a call of a tool that does not exist: it counts as completed there. */
const UNKNOWN_TOOL = "invalid";

const countTools = (calls: readonly ObservedCall[]): ToolCount[] => {
  const hasFailed = ({ tool, stage }: ObservedCall) => stage === "failed" || tool === UNKNOWN_TOOL;
  return [...Map.groupBy(calls, ({ tool }) => tool)]
    .map(([tool, of]) => ({ tool, calls: of.length, failed: of.filter(hasFailed).length }))
    .sort((one, other) => other.calls - one.calls);
};

/** Returns a path from the directory; as it is where it lies elsewhere. */
const shownPath = (directory: string, path: string): string => {
  const inside = relative(directory, path);
  return inside === "" || isAbsolute(inside) || inside === ".." || inside.startsWith(`..${sep}`) ? path : inside;
};

const sumOf = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || other === undefined ? undefined : one + other;

const CHANGE_AFTER: Record<WrittenFile["change"], Record<FileWrite["change"], WrittenFile["change"]>> = {
  added: { added: "added", changed: "added", deleted: "deleted" },
  changed: { added: "changed", changed: "changed", deleted: "deleted" },
  // What was there before was replaced.
  deleted: { added: "changed", changed: "changed", deleted: "deleted" },
};

/** Adds up what all calls did to each file. */
const filesWritten = (writes: readonly FileWrite[], directory: string): WrittenFile[] => {
  const files = new Map<string, FileWrite>();
  for (const write of writes) {
    const before = files.get(write.path);
    files.set(
      write.path,
      before
        ? {
            path: write.path,
            change: CHANGE_AFTER[before.change][write.change],
            added: sumOf(before.added, write.added),
            removed: sumOf(before.removed, write.removed),
          }
        : write,
    );
  }
  return [...files.values()].map(({ path, change, added, removed }) => ({
    path: shownPath(directory, path),
    change,
    ...(added === undefined ? {} : { added }),
    ...(removed === undefined ? {} : { removed }),
  }));
};

const ranCommand = ({ command, exit, end }: Extract<ToolCallEffect, { kind: "command" }>): RanCommand => {
  const tests = testsOf(command, exit);
  return {
    command: truncateLine(command, COMMAND_CHARS),
    ...(exit === undefined ? {} : { exit }),
    end,
    ...(tests ? { tests } : {}),
  };
};

/** The newest commands; those that run tests before all others. */
const newestCommands = (commands: readonly RanCommand[]): RanCommand[] => {
  const tests = commands.filter((command) => command.tests !== undefined).slice(-MOST);
  const others = commands.filter((command) => command.tests === undefined);
  const kept = new Set([...tests, ...others.slice(Math.max(0, others.length - (MOST - tests.length)))]);
  return commands.filter((command) => kept.has(command));
};

/** Writes the receipt of a run from what was observed of it. */
const composeReceipt = (run: ObservedRun): Receipt => {
  const { directory, startedAt, endedAt } = run;
  const effects = run.calls.flatMap(({ effect }) => effect ?? []);
  const writes = effects.flatMap((effect) => (effect.kind === "write" ? effect.files : []));
  const files = filesWritten(writes, directory);
  const own = new Set(writes.map(({ path }) => path));
  const otherFiles = [...new Set(run.changedFiles)].filter((path) => !own.has(path));
  const commands = effects.flatMap((effect) => (effect.kind === "command" ? ranCommand(effect) : []));
  const shownCommands = newestCommands(commands);
  const workedMs = timeIn(run.messages, run.requests, startedAt, endedAt);
  return {
    run: run.index,
    isWhole: run.isWhole,
    tools: countTools(run.calls),
    filesRead: new Set(effects.flatMap((effect) => (effect.kind === "read" ? effect.path : []))).size,
    files: files.slice(0, MOST),
    otherFiles: otherFiles.slice(0, MOST).map((path) => shownPath(directory, path)),
    commands: shownCommands,
    ...(run.gate ? { gate: run.gate } : {}),
    ...(run.incomplete ? { incomplete: run.incomplete } : {}),
    omitted: {
      files: Math.max(0, files.length - MOST),
      otherFiles: Math.max(0, otherFiles.length - MOST),
      commands: commands.length - shownCommands.length,
    },
    ...addUp(run.steps),
    workedMs,
    waitedMs: Math.max(0, endedAt - startedAt) - workedMs,
  };
};

/** A span of time, in epoch milliseconds. `to` is undefined while it lasts. */
interface Span {
  from: number;
  to: number | undefined;
}

/** Returns the spans cut to those limits, joined where they touch or overlap, in their order. */
const joined = (spans: readonly Span[], from: number, to: number): { from: number; to: number }[] => {
  const cut = spans
    .map((span) => ({ from: Math.max(span.from, from), to: Math.min(span.to ?? to, to) }))
    .filter((span) => span.to > span.from)
    .sort((one, other) => one.from - other.from);
  const whole: { from: number; to: number }[] = [];
  for (const span of cut) {
    const last = whole.at(-1);
    if (last && span.from <= last.to) last.to = Math.max(last.to, span.to);
    else whole.push(span);
  }
  return whole;
};

const lengthOf = (spans: readonly { from: number; to: number }[]): number =>
  spans.reduce((sum, { from, to }) => sum + (to - from), 0);

/** Returns how many milliseconds from `from` to `to` lie in one of `spans`, and in none of `except`. */
export const timeIn = (spans: readonly Span[], except: readonly Span[], from: number, to: number): number => {
  const both = joined([...spans, ...except], from, to);
  return lengthOf(both) - lengthOf(joined(except, from, to));
};

/** The first words of commands that run tests, in the tools of the larger languages. */
const RUNNERS = [
  String.raw`(?:npm|pnpm|yarn|bun|deno)\s+(?:-\S+\s+)*(?:run\s+)?(?:-\S+\s+)*(?:t|test)(?::\S+)?`,
  String.raw`(?:npx|bunx|pnpm\s+exec|pnpm\s+dlx|yarn\s+exec|yarn)\s+(?:vitest|jest|mocha|ava|playwright\s+test)`,
  String.raw`(?:\S*/)?(?:vitest|jest|mocha|ava)`,
  String.raw`node\s+(?:-\S+\s+)*--test`,
  String.raw`(?:\S*/)?(?:pytest|tox|nox)`,
  String.raw`python3?\s+-m\s+(?:pytest|unittest)`,
  String.raw`(?:poetry|uv|pipenv|hatch)\s+run\s+(?:pytest|tox)`,
  String.raw`cargo\s+(?:\+\S+\s+)?(?:test|nextest\s+run)`,
  String.raw`go\s+test`,
  String.raw`(?:bundle\s+exec\s+)?(?:rspec|rake\s+(?:test|spec))`,
  String.raw`(?:\S*/)?phpunit`,
  String.raw`(?:\S*/)?(?:mvnw?|gradlew?)\s+(?:\S+\s+)*(?:\S*:)?(?:test|check|verify)`,
  String.raw`dotnet\s+test`,
  String.raw`swift\s+test`,
  String.raw`mix\s+test`,
  String.raw`make\s+(?:\S+\s+)*(?:test|check)`,
  "ctest",
];

/** What may stand before the command itself: settings of variables, and commands that run another one. */
const BEFORE = String.raw`(?:\w+=\S*\s+)*(?:(?:time|env|sudo|timeout\s+\S+)\s+)*(?:\w+=\S*\s+)*`;

const RUNS_TESTS = new RegExp(String.raw`^${BEFORE}(?:${RUNNERS.join("|")})(?![\w-])`);

/** Where the shell starts another command: whatever stands in quotation marks there only makes a verdict less sure. */
const SEPARATOR = /\|\||&&|[;|&\n]/;

/** Redirections such as `2>&1` start no command. */
const REDIRECTION = /\d?>&\d|&>>?/g;

/**
 * Returns what a shell command's exit code shows of the tests that it runs; undefined for a command that runs none. Where the
 * command goes on after the tests in any way but `&&`, its exit code may be that of something else.
 */
export const testsOf = (command: string, exit: number | undefined): RanCommand["tests"] => {
  const bare = command.replaceAll(REDIRECTION, " ");
  const runsTests = bare.split(SEPARATOR).map((part) => RUNS_TESTS.test(part.trim()));
  if (!runsTests.includes(true)) return undefined;
  const others = bare.replaceAll("&&", " ");
  if (exit === undefined || SEPARATOR.test(others.trim())) return "unclear";
  if (exit === 0) return "passed";
  // Of several commands in a row, another one may have failed.
  return runsTests.every(Boolean) ? "failed" : "unclear";
};
