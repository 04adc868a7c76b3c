import type { ApiResult, ApiTask } from "../../client/api-types.ts";
import { descendantsOf } from "../../client/status-api-client.ts";
import { cut, wrap } from "../../services/platform/columns.ts";
import { toSingleLine } from "../../services/platform/plain-text.ts";
import { shortTime } from "../../services/text/amounts.ts";
import { answerLine, replyProblem, requestDetails, requestLine } from "../../services/text/request-text.ts";
import { type Asked, requestsIn } from "../../services/text/task-counts.ts";
import { runTime } from "../../services/text/task-state.ts";
import { hasEnded } from "../../task.ts";
import type { OpenUserRequest, UserReply } from "../../user-request.ts";
import {
  CALLED_AS,
  type CommandContext,
  CommandError,
  command,
  EXIT,
  examples,
  named,
  printJson,
  promptOf,
  TASK_ID,
  taskIdOf,
} from "../command.ts";
import { liveTasks, openClient, received } from "../task-source.ts";
import { stateCell } from "../task-table.ts";
import { count, dateTime, type Terminal } from "../terminal.ts";
import { chosenTasks, type Refused, TASK_IDS, topmost, withEach } from "./many-tasks.ts";

const show = (asking: Asked<ApiTask>[], { print, style }: Terminal) => {
  for (const { task, request } of asking) {
    print(
      `${style("bold", task.sessionID)}  "${toSingleLine(task.description)}" (${toSingleLine(task.agent)}), since ${dateTime(Date.parse(request.since))}`,
      `  ${requestLine(request)}`,
      ...requestDetails(request).map((line) => `  ${line}`),
      style("dim", `  ${answerLine(CALLED_AS, request)}`),
    );
  }
};

/** Splits the answer to one question at commas, if several choices are allowed and it is not itself a choice. */
const splitChoices = (answer: string, { options, multiple }: { options: string[]; multiple: boolean }): string[] =>
  !multiple || options.includes(answer) ? [answer] : answer.split(",").map((choice) => choice.trim());

const REPLIES = ["once", "always", "reject"] as const;

const permissionReply = (words: string[]): UserReply["reply"] => {
  const [word, ...more] = words;
  const reply = REPLIES.find((known) => known === word);
  if (reply && more.length === 0) return reply;
  throw new CommandError(`A permission takes once, always or reject, not "${toSingleLine(words.join(" "))}".`);
};

const toReply = (
  { id: requestId, kind, questions = [] }: OpenUserRequest,
  words: string[],
  { reject, message }: { reject: boolean; message: string | undefined },
): UserReply => {
  const why = message === undefined ? {} : { message };
  if (!reject && words.length === 0) throw new CommandError("Give an answer, or --reject.");
  if (reject && words.length > 0) throw new CommandError("--reject cannot be combined with an answer.");
  if (words.some((word) => word.trim() === "")) throw new CommandError("An answer is empty.");
  if (reject) return { requestId, reply: "reject", ...why };
  if (kind === "permission") return { requestId, reply: permissionReply(words), ...why };
  if (words.length === 1 && words[0] === "reject" && !questions[0]?.options.includes("reject")) {
    throw new CommandError("To reject a question, use --reject.");
  }
  const answers = words.map((word, index) => splitChoices(word, questions[index] ?? { options: [], multiple: false }));
  return { requestId, answers, ...why };
};

/** Finds the request that is meant: by its id, or by the beginning of it that no other has. */
const requestNamed = (all: Asked<ApiTask>[], id: string | undefined): Asked<ApiTask> | undefined => {
  const found = all.filter(({ request }) => request.id === id);
  if (id === undefined || found.length > 0 || !/^(per|que)_/.test(id)) return found[0];
  const [one, ...others] = all.filter(({ request }) => request.id.startsWith(id));
  if (others.length === 0) return one;
  throw new CommandError(
    `"${toSingleLine(id)}" begins the ids of ${others.length + 1} open requests. Give more of it.`,
  );
};

/** True in what OpenCode starts, such as the commands of agents: it names itself in the environment of those. */
const isCalledByAgent = (): boolean => process.env.OPENCODE === "1";

export const answerCommand = ({ terminal }: CommandContext) =>
  command(
    "answer",
    "answer a permission or question of a task, or show the open ones",
    "Answer a permission or a question that a task is waiting for. Without an answer, show the open requests of a task, or of all tasks, with their ids.",
  )
    .argument("[id]", "the request to answer, or the task whose requests to show; its beginning will do")
    .argument(
      "[answer...]",
      "for a permission: once, always or reject; for questions: one answer for each, in order. Separate several choices with commas, and put -- before an answer that starts with -",
    )
    .option("--reject", "reject the permission or the questions")
    .option("--message <why>", "with a rejected permission: the reason, for the agent to read")
    .addHelpText(
      "after",
      `
OpenCode must be running.
${examples(["answer", "what all tasks ask"], ["answer per_4f5c9a once", "allow it this time"], ["answer que_4f5c9a a.ts", "answer a question"])}`,
    )
    .action(async (id, words, { reject = false, message, json, data }) => {
      const isAnswer = words.length > 0 || reject || message !== undefined;
      if (id?.trim() === "" || (id === undefined && isAnswer)) throw new CommandError("Give the id of a request.");
      if (isAnswer && isCalledByAgent()) {
        throw new CommandError(
          "Only a person may answer what a task asks, and this terminal is OpenCode's, which agents use. Answer in a terminal of your own.",
        );
      }
      const api = openClient(data);
      const tasks = await liveTasks(api);
      const all = requestsIn(tasks);
      const asked = requestNamed(all, id);
      if (asked && isAnswer) {
        const reply = toReply(asked.request, words, { reject, message });
        const problem = replyProblem(asked.request, reply);
        if (problem) throw new CommandError(toSingleLine(problem));
        const task = received(await api.answer(asked.task.sessionID, reply));
        if (json) return printJson(terminal, task);
        return terminal.print(`Answered. Task ${named(task)} is ${toSingleLine(task.status)}.`);
      }
      const meant = id === undefined ? tasks : tasks.filter(({ sessionID }) => sessionID.startsWith(taskIdOf(id)));
      const shown = asked ? [asked] : requestsIn(meant);
      if (id !== undefined && !asked && meant.length === 0) {
        throw new CommandError(
          `No open request or running task has the id "${toSingleLine(id)}". It may have been answered already. Without an id, all open requests are shown.`,
        );
      }
      if (isAnswer) {
        if (shown.length === 0) throw new CommandError("The task has no open request.");
        const lines = shown.map(({ request }) => `  ${answerLine(CALLED_AS, request)}`);
        throw new CommandError(["Answer one of the task's requests, by its id:", ...lines].join("\n"));
      }
      if (json)
        return printJson(
          terminal,
          shown.map(({ task, request }) => ({ sessionID: task.sessionID, ...request })),
        );
      show(shown, terminal);
      if (shown.length === 0)
        terminal.print(id === undefined ? "No task has an open request." : "The task has no open request.");
    });

const WORDS = "several words need no quotes; put -- before one that starts with -";

export const steerCommand = ({ terminal }: CommandContext) =>
  command("steer", "give a running task a further instruction")
    .argument("<task-id>", TASK_ID)
    .argument("<instruction...>", WORDS)
    .addHelpText(
      "after",
      `
Its agent sees the instruction at its next step, and goes on with its task. OpenCode must be running.
${examples(["steer 4f5c9a only the tests, please", "change the course of a task"])}`,
    )
    .action(async (id, words, { json, data }) => {
      const task = received(await openClient(data).steer(taskIdOf(id), promptOf(words, "instruction")));
      if (json) return printJson(terminal, task);
      terminal.print(`Task ${named(task)} was given the instruction: its agent sees it at its next step.`);
    });

/** Says when a task goes on that cannot yet. */
const onceDelivered = ({ nextRun }: ApiTask): string => (nextRun ? ", once its result is delivered" : "");

export const resumeCommand = ({ terminal }: CommandContext) =>
  command("resume", "send a completed task a follow-up prompt")
    .argument("<task-id>", TASK_ID)
    .argument("<prompt...>", WORDS)
    .addHelpText(
      "after",
      `
The task goes on in its conversation, and its result is delivered as the first one was. OpenCode must be running.
${examples(["resume 4f5c9a now write the tests", "have it do more"])}`,
    )
    .action(async (id, words, { json, data }) => {
      const task = received(await openClient(data).resume(taskIdOf(id), promptOf(words, "prompt")));
      if (json) return printJson(terminal, task);
      terminal.print(`Task ${named(task)} goes on with that prompt${onceDelivered(task)}.`);
    });

export const retryCommand = (context: CommandContext) =>
  command("retry", "have tasks go on that failed or were cancelled")
    .argument("[task-id...]", TASK_IDS)
    .option("--batch <id>", "all of a batch")
    .option("--parent <session>", "all that this session launched: its whole id")
    .option("--prompt <text>", "what their agents are given in addition to why they were stopped")
    .option("--model <name>", "the model that they work with from then on: provider/model or provider/model#variant")
    .addHelpText(
      "after",
      `
Each goes on in its conversation, after its last finished step, with limits of its own. OpenCode must be running.
${examples(
  ["retry 4f5c9a", "go on with a task that failed"],
  ["retry --batch batch_1f", "with all of a batch that did not complete"],
  ['retry 4f5c9a --prompt "The key is renewed."', "say what has changed"],
  ["retry 4f5c9a --model openai/gpt-5.2", "where its model is refused"],
)}`,
    )
    .action(async (ids, { prompt, model, batch, parent, json, data }) => {
      const client = openClient(data);
      const chosen = await chosenTasks(client, ids, "RETRY", { batch, parent });
      const retry = (id: string) => client.retry(id, { prompt, model });
      const says = (task: ApiTask) => `Task ${named(task)} goes on from where it was${onceDelivered(task)}.`;
      await withEach(context, chosen, json, retry, says);
    });

/** Says whether a task is paused now: it may have ended just before. */
const pausedText = (task: ApiTask): string =>
  task.waiting?.for === "continue"
    ? `Task ${named(task)} is paused.`
    : `Task ${named(task)} is not paused: it is ${stateCell(task).text}.`;

export const pauseCommand = (context: CommandContext) =>
  command("pause", "pause tasks, and the tasks that they launched, until they are told to go on")
    .argument("[task-id...]", TASK_IDS)
    .option("--batch <id>", "all tasks of a batch")
    .option("--parent <session>", "all tasks that this session launched: its whole id")
    .option("--all", "all tasks that run or wait")
    .addHelpText(
      "after",
      `
A paused task keeps its conversation and what was done, holds no slot and costs nothing, over restarts of OpenCode, too.
OpenCode must be running.
${examples(["pause 4f5c9a", "pause a task"], ["pause --all", "pause everything"])}`,
    )
    .action(async (ids, { json, data, ...choice }) => {
      const client = openClient(data);
      const chosen = await chosenTasks(client, ids, "PAUSE", choice);
      await withEach(context, chosen, json, client.pause, pausedText);
    });

export const continueCommand = (context: CommandContext) =>
  command("continue", "have paused tasks go on, and the tasks that they launched")
    .argument("[task-id...]", TASK_IDS)
    .option("--batch <id>", "all paused tasks of a batch")
    .option("--parent <session>", "all paused tasks that this session launched: its whole id")
    .option("--all", "all paused tasks")
    .addHelpText(
      "after",
      `
Each goes on after its last finished step, as soon as a slot is free. OpenCode must be running.
${examples(["continue 4f5c9a", "have a task go on"], ["continue --all", "have everything go on"])}`,
    )
    .action(async (ids, { json, data, ...choice }) => {
      const client = openClient(data);
      const chosen = await chosenTasks(client, ids, "CONTINUE", choice);
      await withEach(context, chosen, json, client.continue, (task) => `Task ${named(task)} goes on.`);
    });

const line = (task: ApiTask): string =>
  `${named(task)} (${toSingleLine(task.agent)}, ${stateCell(task).text} for ${shortTime(runTime(task, Date.now()))})`;

/** Why a task that has ended cannot be stopped; undefined for another one. */
const endedFailure = (task: ApiTask): Refused | undefined =>
  hasEnded(task) && !task.nextRun
    ? {
        ...{ ok: false, kind: "refused" },
        reason: `Task ${named(task)} has already ended: it is ${toSingleLine(task.status)}.`,
      }
    : undefined;

/** Says what stops, and asks whether it is to. */
const confirmStop = (tasks: readonly ApiTask[], subtasks: readonly ApiTask[], terminal: Terminal): Promise<boolean> => {
  const [task, ...others] = tasks;
  const isOne = task !== undefined && others.length === 0;
  const what = isOne ? line(task) : count(tasks.length, "task");
  const stops = `This stops ${what}${subtasks.length > 0 ? `, and ${isOne ? "its" : "their"} subtasks:` : isOne ? "." : ":"}`;
  terminal.print(
    ...wrap(stops, terminal.columns),
    ...[...(isOne ? [] : tasks), ...subtasks].map((each) => cut(`  ${line(each)}`, terminal.columns)),
  );
  return terminal.confirm(isOne ? "Stop it? [y/N] " : "Stop them? [y/N] ");
};

export const cancelCommand = (context: CommandContext) =>
  command("cancel", "stop tasks, and the tasks that they launched")
    .argument("[task-id...]", TASK_IDS)
    .option("--batch <id>", "all tasks of a batch")
    .option("--parent <session>", "all tasks that this session launched: its whole id")
    .option("--all", "all tasks that have not ended")
    .option("-y, --yes", "do not ask")
    .addHelpText(
      "after",
      `
Says what else stops, and asks, unless the input or the output is not a terminal. OpenCode must be running.
${examples(["cancel 4f5c9a", "stop a task"], ["cancel --all", "stop everything"])}`,
    )
    .action(async (ids, { yes = false, json, data, ...choice }) => {
      const { terminal, end } = context;
      const client = openClient(data);
      const chosen = await chosenTasks(client, ids, "CANCEL", choice);
      const live = await liveTasks(client);
      const read = async (id: string): Promise<ApiResult<ApiTask>> => {
        const known = live.find(({ sessionID }) => sessionID === id);
        return known ? { ok: true, value: known } : client.task(id);
      };
      const found = await Promise.all(chosen.map(read));
      const refused = found.flatMap((each) => (each.ok ? (endedFailure(each.value) ?? []) : each));
      const tasks = topmost(
        found.flatMap((each) => (each.ok && !endedFailure(each.value) ? each.value : [])),
        live,
      );
      const below = (task: ApiTask) => descendantsOf(task.sessionID, live);
      if (tasks.length > 0 && !yes && !json && terminal.isInteractive) {
        if (!(await confirmStop(tasks, tasks.flatMap(below), terminal))) {
          terminal.print("Nothing was stopped.");
          return end(EXIT.failed);
        }
      }
      const others = new Map(tasks.map((task) => [task.sessionID, below(task).length]));
      const says = (stopped: ApiTask) => {
        const subtasks = others.get(stopped.sessionID) ?? 0;
        const withIt = subtasks === 0 ? "" : `, and with it ${count(subtasks, "subtask")}`;
        return `Task ${named(stopped)} is ${toSingleLine(stopped.status)}${withIt}.`;
      };
      const isOne = ids.length === 1;
      await withEach(
        context,
        tasks.map(({ sessionID }) => sessionID),
        json,
        client.cancel,
        says,
        { refused, isOne },
      );
    });
