import type { ApiTask } from "../../client/api-types.ts";
import type { StatusApiClient } from "../../client/status-api-client.ts";
import { toSingleLine } from "../../services/platform/plain-text.ts";
import { answerLine, requestDetails, requestLine, shellCommand } from "../../services/text/user-request.ts";
import { type OpenUserRequest, replyProblem, type UserReply } from "../../user-request.ts";
import { type Command, CommandError, EXIT, parseArguments } from "../command.ts";
import { openClient, received } from "../status-api.ts";
import { dateTime, type Terminal } from "../terminal.ts";

/** How this program was called, so that suggested command lines work in any terminal. */
const COMMAND = shellCommand(process.argv[1] ?? "opencode-taskchart");

const HELP = `Usage: opencode-taskchart answer [<task-id>] [--data <folder>]
       opencode-taskchart answer <request-id> <answer> ... [--message <why>] [--data <folder>]
       opencode-taskchart answer <request-id> --reject [--message <why>] [--data <folder>]

Answers a permission or a question that a task is waiting for. Without an answer it shows the open requests of
a task, or of all tasks, with their ids.

  <request-id>     the request to answer
  <answer>         for a permission: once, always or reject
                   for questions: one answer for each, in order; separate several choices with commas,
                   and put -- before an answer that starts with -
  <task-id>        a task's id, or the beginning of it
  --reject         reject the permission or the questions
  --message <why>  with a rejected permission: what to tell the agent
  --data <folder>  the plugin's data folder; default: $XDG_DATA_HOME/opencode-taskchart
                   or ~/.local/share/opencode-taskchart

OpenCode must be running: the answer is sent to its status API.

Exit code: 0 if answered or shown; 2 if it failed, with the reason on standard error.`;

/** Returns all tasks that have not ended, newest first. */
const liveTasks = async (api: StatusApiClient): Promise<ApiTask[]> => {
  const pages = [await api.allTasks({ status: "running" }), await api.allTasks({ status: "resumed" })];
  return pages.flatMap(received).sort((one, other) => other.startedAt.localeCompare(one.startedAt));
};

/** An open request, and the task that it is shown with. */
interface ShownRequest {
  task: ApiTask;
  request: OpenUserRequest;
}

/**
 * Returns the open requests of some tasks, each once. A request also appears in the tasks above the one that asks; it is
 * shown with the newest of them, which is the nearest.
 */
const openRequests = (tasks: ApiTask[]): ShownRequest[] => {
  const asking = tasks.flatMap((task) => (task.attention?.requests ?? []).map((request) => ({ task, request })));
  return asking.filter(({ request }, index) => asking.findIndex((other) => other.request.id === request.id) === index);
};

const show = (asking: ShownRequest[], { print, style }: Terminal) => {
  for (const { task, request } of asking) {
    print(
      `${style("bold", task.sessionID)}  "${toSingleLine(task.description)}" (${toSingleLine(task.agent)}), since ${dateTime(Date.parse(request.since))}`,
      `  ${requestLine(request)}`,
      ...requestDetails(request).map((line) => `  ${line}`),
      style("dim", `  ${answerLine(COMMAND, request)}`),
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

/** `opencode-taskchart answer`: shows or answers the open requests of tasks. */
export const answerCommand: Command = {
  summary: "answer a permission or question of a task, or show the open ones",
  help: HELP,
  run: async (args, terminal) => {
    const options = {
      reject: { type: "boolean", default: false },
      message: { type: "string" },
      data: { type: "string" },
    } as const;
    const { values, argument: id, further: words } = parseArguments(args, options, Number.POSITIVE_INFINITY);
    const isAnswer = words.length > 0 || values.reject || values.message !== undefined;
    if (id?.trim() === "" || (id === undefined && isAnswer)) throw new CommandError("Give the id of a request.");
    const api = openClient(values.data);
    const tasks = await liveTasks(api);
    const all = openRequests(tasks);
    const asked = id === undefined ? undefined : all.find(({ request }) => request.id === id);
    if (asked && isAnswer) {
      const reply = toReply(asked.request, words, { reject: values.reject, message: values.message });
      const problem = replyProblem(asked.request, reply);
      if (problem) throw new CommandError(toSingleLine(problem));
      const task = received(await api.answer(asked.task.sessionID, reply));
      terminal.print(`Answered. Task ${task.sessionID} "${toSingleLine(task.description)}" is ${task.status}.`);
      return EXIT.ok;
    }
    const meant = id === undefined ? tasks : tasks.filter(({ sessionID }) => sessionID.startsWith(id));
    const shown = asked ? [asked] : openRequests(meant);
    if (id !== undefined && !asked && meant.length === 0) {
      throw new CommandError(
        `No open request or running task has the id "${toSingleLine(id)}". It may have been answered already. Without an id, all open requests are shown.`,
      );
    }
    if (isAnswer && shown.length === 0) throw new CommandError("The task has no open request.");
    if (isAnswer) {
      const lines = shown.map(({ request }) => `  ${answerLine(COMMAND, request)}`);
      throw new CommandError(["Answer one of the task's requests, by its id:", ...lines].join("\n"));
    }
    show(shown, terminal);
    if (shown.length === 0)
      terminal.print(id === undefined ? "No task has an open request." : "The task has no open request.");
    return EXIT.ok;
  },
};
