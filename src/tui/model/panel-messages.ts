import type { ApiTask, Changes } from "../../client/api-types.ts";
import type { FollowedTasks } from "../../client/follow-tasks.ts";
import { descendantsOf } from "../../client/status-api-client.ts";
import { shortTime } from "../../services/text/amounts.ts";
import { instructionsReport } from "../../services/text/instruction-text.ts";
import { onServer } from "../../services/text/model-and-server.ts";
import { overlapSummary } from "../../services/text/overlap-text.ts";
import { receiptSummary, whatResultLacks } from "../../services/text/result-text.ts";
import {
  changedFile,
  changesSummary,
  cutOffSentence,
  leftOutLines,
  possibleDecisions,
} from "../../services/text/worktree-text.ts";
import { hasEnded } from "../../task.ts";

export interface Explanation {
  title: string;
  message: string;
}

/** A question, with what may be read before it is answered. */
export interface Question extends Explanation {
  /** The answer that leaves everything as it is. */
  keep: string;
  /** The answer that does what is asked about. */
  go: string;
  /** What is shown below the message: diffs, as git writes them. */
  diffs?: readonly string[];
}

/** Tasks that a question names; more are counted. */
const MAX_NAMED = 5;

const namesOf = (tasks: readonly ApiTask[]): string => {
  const named = tasks.slice(0, MAX_NAMED).map(({ description }) => `"${description}"`);
  return `${named.join(", ")}${tasks.length > MAX_NAMED ? ` and ${tasks.length - MAX_NAMED} more` : ""}`;
};

/** Returns the subtasks of tasks, at any depth, that have not ended and are not among them: they stop with them. */
export const stopsWith = (tasks: readonly ApiTask[], all: readonly ApiTask[]): ApiTask[] => {
  const ids = new Set(tasks.map(({ sessionID }) => sessionID));
  const below = new Set(tasks.flatMap(({ sessionID }) => descendantsOf(sessionID, all)));
  return [...below].filter((task) => !hasEnded(task) && !ids.has(task.sessionID));
};

/** Asks whether tasks are to be stopped, and says what else stops with them. */
export const stopQuestion = (tasks: readonly ApiTask[], all: readonly ApiTask[]): Question => {
  const isOne = tasks.length === 1;
  const others = stopsWith(tasks, all);
  const count = others.length === 1 ? "1 subtask stops" : `${others.length} subtasks stop`;
  const it = isOne ? "it" : "them";
  const also = others.length === 0 ? `Nothing else stops with ${it}.` : `${count} with ${it}: ${namesOf(others)}.`;
  const who = isOne ? "The agent that launched it is notified." : "The agents that launched them are notified.";
  return {
    title: isOne ? `Stop ${namesOf(tasks)}?` : `Stop ${tasks.length} tasks?`,
    message: `${isOne ? "" : `${namesOf(tasks)}. `}${also} ${who}`,
    keep: `Leave ${it} running`,
    go: isOne ? "Stop it" : `Stop ${tasks.length} tasks`,
  };
};

/** Files that a question names; more are counted. */
const MAX_FILES = 8;

const filesText = (files: Changes["files"]): string => {
  const more = files.length > MAX_FILES ? [`and ${files.length - MAX_FILES} more`] : [];
  return [...files.slice(0, MAX_FILES).map(changedFile), ...more].join("\n");
};

/** What one of several tasks changed. */
interface TaskChanges {
  task: Pick<ApiTask, "description">;
  changes: Changes;
}

/** Returns those of the changes that can be applied, or discarded. */
export const thatCanBe = <Of extends TaskChanges>(action: "apply" | "discard", given: readonly Of[]): Of[] =>
  given.filter(({ changes }) => possibleDecisions(changes)[action]);

const changesText = ({ changes: { files, leftOut = [], tree, cutOff } }: TaskChanges): string => {
  const earlier = cutOff ? [`${cutOffSentence(cutOff, tree)}\n`] : [];
  return [...earlier, changesSummary(files), filesText(files), ...leftOutLines(leftOut)].join("\n");
};

/**
 * Asks whether what tasks changed in their worktrees is to be applied, one after the other, or removed. It is about those for
 * which that is possible; undefined where there are none.
 */
export const changesQuestion = (action: "apply" | "discard", given: readonly TaskChanges[]): Question | undefined => {
  const all = thatCanBe(action, given);
  const [first] = all;
  if (!first) return undefined;
  const isOne = all.length === 1;
  const what = isOne
    ? changesText(first)
    : all.map((one) => `"${one.task.description}": ${changesText(one)}`).join("\n\n");
  const whose = isOne ? `"${first.task.description}"` : `${all.length} tasks`;
  const diffs = all.flatMap(({ changes }) => changes.diff ?? []);
  if (action === "apply") {
    const how = isOne ? "all of it, or nothing" : "one after the other, up to the first that conflicts";
    return {
      ...{ title: `Apply what ${whose} changed?`, message: `To ${first.changes.tree}: ${how}.\n\n${what}` },
      ...{ keep: "Not now", go: "Apply", diffs },
    };
  }
  const gone = all.every(({ changes }) => changes.became !== undefined);
  const removed = gone
    ? `${isOne ? "Its worktree is" : "Their worktrees are"} gone`
    : `This removes ${isOne ? "its worktree" : "their worktrees"}`;
  return {
    title: `Discard what ${whose} changed?`,
    message: `${removed}; a patch file is kept${isOne ? "" : " of each"}.\n\n${what}`,
    ...{ keep: isOne ? "Keep it" : "Keep them", go: "Discard", diffs },
  };
};

/** What became of the changes of a task whose worktree is gone. */
const BECAME = {
  clean: "It changed nothing.",
  applied: "Its changes were applied.",
  discarded: "Its changes were discarded.",
  expired: "Its worktree was kept for as long as the option worktree.keep says. A patch file is left of it.",
  sent: "Its changes are with the server that launched it.",
} as const;

/** Explains why there is nothing to apply or to discard. */
export const noChanges = ({ became, leftOut = [] }: Changes): string =>
  became === undefined && leftOut.length > 0
    ? ["Nothing that it left can be applied.", ...leftOutLines(leftOut)].join("\n")
    : BECAME[became ?? "clean"];

const serverText = (task: ApiTask): string | undefined => {
  const where = onServer(task);
  return where === undefined ? undefined : `It ran ${where}, another server of the fleet.`;
};

const endText = (task: ApiTask): string => {
  const { status, error, summary } = task;
  if (status === "error") return `It failed: ${error?.message ?? "no reason is known"}`;
  if (status === "cancelled") return "It was cancelled.";
  return ["It is completed.", whatResultLacks(task), summary].filter(Boolean).join(" ");
};

/** Describes what a task waits for and what ends that, or how it has ended and what it was seen to do. `now` is epoch milliseconds. */
export const whyText = (task: ApiTask, now: number): Explanation => {
  const title = task.description;
  const { waiting, why } = task;
  const paragraphs = (...texts: (string | undefined)[]) => ({
    title,
    message: texts.filter((text) => text !== undefined).join("\n\n"),
  });
  const shared = overlapSummary(task.progress.overlaps, task.parentSessionID);
  const given = instructionsReport(task);
  if (waiting && why !== undefined) {
    return paragraphs(
      `Waits for ${why}. It has waited for ${shortTime(now - Date.parse(waiting.since))}.`,
      given,
      shared,
    );
  }
  if (!hasEnded(task)) return paragraphs("It is at work.", given, shared);
  return paragraphs(endText(task), given, serverText(task), task.receipt && receiptSummary(task.receipt), shared);
};

/** Milliseconds within which what is interrupted counts as interrupted by the same event, such as an OpenCode that ends. */
const TOGETHER_MS = 30_000;

interface Shown {
  /** The tasks of the conversation that is shown; of the whole directory where none is. */
  tasks: readonly ApiTask[];
  isConversation: boolean;
  /**
   * Epoch milliseconds. What was interrupted up to then is not announced: it was before, or it had gone on before the interface
   * began.
   */
  after: number;
}

/**
 * Names which tasks were interrupted and go on: after a restart of OpenCode, and after an `opencode run` that left them behind.
 * Undefined where none was, or that is no news. `upTo` is when the newest of these tasks was interrupted, epoch milliseconds.
 */
export const announcementOf = ({ tasks, isConversation, after }: Shown) => {
  const interruptions = tasks.flatMap((task) =>
    hasEnded(task) || task.interruptedAt === undefined ? [] : Date.parse(task.interruptedAt),
  );
  const upTo = Math.max(...interruptions);
  if (!(upTo > after)) return undefined;
  const count = interruptions.filter((at) => upTo - at <= TOGETHER_MS).length;
  const what = count === 1 ? "1 task" : `${count} tasks`;
  const where = isConversation ? "of this conversation" : "of this directory";
  const [verb, object] = count === 1 ? ["goes", "it"] : ["go", "them"];
  return { message: `${what} ${where} ${verb} on. /tasks lists ${object}.`, upTo };
};

interface Connection extends Pick<FollowedTasks, "lost" | "server"> {
  /** It has received the tasks at least once. */
  hasHeard: boolean;
  /** The environment says that there is no server. */
  isOff: boolean;
}

/**
 * Explains why what is known may be out of date or incomplete; undefined where it is neither. OpenCode starts the plugin when it
 * is needed, so a new interface finds no server before its first message.
 */
export const problemOf = ({ lost, server, hasHeard, isOff }: Connection): string | undefined => {
  if (lost === undefined) return server?.versionDifference;
  if (hasHeard || lost.kind !== "notRunning") return `Out of date. ${lost.reason}`;
  return isOff
    ? "Tasks are not shown: ASYNCAGENTS_API_ENABLED=false switches off what the panel reads."
    : "Tasks show here from your first message on.";
};

type OwnNames = ReadonlySet<string>;

/** The address under which OpenCode's interface reaches a server in its own process. */
const IN_PROCESS = "opencode.internal";

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\]|::1|0\.0\.0\.0)$/;

/**
 * Returns the name of the other machine that the server at an address runs on; undefined where it is this one, or the
 * address does not say so. A tunnel from this machine looks like this machine.
 */
export const otherMachine = (url: string | undefined, ownNames: OwnNames): string | undefined => {
  if (url === undefined || !URL.canParse(url)) return undefined;
  const name = new URL(url).hostname.toLowerCase();
  const bare = name.replace(/^\[|\]$/g, "");
  return name === IN_PROCESS || LOOPBACK.test(name) || ownNames.has(bare) ? undefined : name;
};

/** Describes what cannot be seen from here, and where it can. */
export const otherMachineText = (name: string): string =>
  `Tasks run on another machine; the panel on this one does not reach them. On ${name}, opencode-taskchart list shows them.`;
