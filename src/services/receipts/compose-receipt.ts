import { isAbsolute, relative, sep } from "node:path";
import type { FileWrite, ToolCallEffect, ToolCallStage } from "../../machines/host-events.ts";
import type { GateResult, Incompleteness, RanCommand, Receipt, ToolCount, WrittenFile } from "../../receipt.ts";
import { addUp } from "../../task.ts";
import { truncateLine } from "../platform/plain-text.ts";
import { testsOf } from "./test-commands.ts";
import { type Span, timeIn } from "./time-spans.ts";

/** A tool call of a run, as far as it has come. */
export interface ObservedCall {
  tool: string;
  stage: ToolCallStage;
  effect: ToolCallEffect | undefined;
}

/** Everything that was observed of a run that has ended. Times are epoch milliseconds, paths absolute. */
export interface ObservedRun {
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
export const COMMAND_CHARS = 200;

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
export const composeReceipt = (run: ObservedRun): Receipt => {
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
