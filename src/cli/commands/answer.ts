import { toSingleLine } from "../../services/platform/plain-text.ts";
import { answerLine, requestDetails, requestLine, shellCommand } from "../../services/text/user-request.ts";
import { type OpenUserRequest, replyProblem, type UserReply } from "../../user-request.ts";
import { type Command, CommandError, EXIT } from "../command.ts";
import { clockTime, date } from "../format/times.ts";
import { readArguments } from "../parse-arguments.ts";
import { connectStatusApi, type Shown } from "../status-api-client.ts";
import type { Terminal } from "../terminal.ts";

/** As it was called, so that it can be copied into any terminal. */
const COMMAND = shellCommand(process.argv[1] ?? "opencode-taskchart");

const HELP = `Usage: opencode-taskchart answer [<task-id>] [--data <folder>]
       opencode-taskchart answer <request-id> <answer> ... [--message <why>] [--data <folder>]
       opencode-taskchart answer <request-id> --reject [--message <why>] [--data <folder>]

Answers what a task asks of you. Without an answer it shows what a task asks, or all tasks, with the ids.

  <request-id>     which request
  <answer>         for a permission: once, always or reject
                   for questions: one answer for each, in their order; where several may be chosen, with commas
                   after --, where one begins with -
  <task-id>        a task's id, or the beginning of it
  --reject         say no, to a permission or to questions
  --message <why>  with a rejected permission: what the agent is told
  --data <folder>  where the plugin keeps its files; default: $XDG_DATA_HOME/opencode-taskchart
                   or ~/.local/share/opencode-taskchart

OpenCode must be running: the answer goes to its status API.

Exit code: 0 it is answered, or shown; 2 it is not, for the reason that is said.`;

/** A request, and the task that it is shown with. */
interface Asking {
  task: Shown;
  request: OpenUserRequest;
}

/** What tasks ask. A request holds up the tasks above too: it is shown with the newest, which stands nearest. */
const askedBy = (tasks: Shown[]): Asking[] => {
  const asking = tasks.flatMap((task) => (task.attention?.requests ?? []).map((request) => ({ task, request })));
  return asking.filter(({ request }, index) => asking.findIndex((other) => other.request.id === request.id) === index);
};

const show = (asking: Asking[], { say, paint }: Terminal) => {
  for (const { task, request } of asking) {
    const since = Date.parse(request.since);
    say(
      `${paint("bold", task.sessionID)}  "${toSingleLine(task.description)}" (${toSingleLine(task.agent)}), since ${date(since).slice(0, 10)} ${clockTime(since).slice(0, 8)}`,
      `  ${requestLine(request)}`,
      ...requestDetails(request).map((line) => `  ${line}`),
      paint("dim", `  ${answerLine(COMMAND, request)}`),
    );
  }
};

/** One question's answer: a choice as it is, or several with commas between them. */
const choices = (answer: string, { options, multiple }: { options: string[]; multiple: boolean }): string[] =>
  !multiple || options.includes(answer) ? [answer] : answer.split(",").map((choice) => choice.trim());

const REPLIES = ["once", "always", "reject"] as const;

const replyOf = (words: string[]): UserReply["reply"] => {
  const [word, ...more] = words;
  const reply = REPLIES.find((known) => known === word);
  if (reply && more.length === 0) return reply;
  throw new CommandError(`A permission takes once, always or reject, not "${toSingleLine(words.join(" "))}".`);
};

const answerTo = (
  { id: requestId, kind, questions = [] }: OpenUserRequest,
  words: string[],
  { reject, message }: { reject: boolean; message: string | undefined },
): UserReply => {
  const why = message === undefined ? {} : { message };
  if (!reject && words.length === 0) throw new CommandError("Give an answer, or --reject.");
  if (reject && words.length > 0) throw new CommandError("--reject stands by itself: leave the answer out.");
  if (words.some((word) => word.trim() === "")) throw new CommandError("An answer is empty.");
  if (reject) return { requestId, reply: "reject", ...why };
  if (kind === "permission") return { requestId, reply: replyOf(words), ...why };
  if (words.length === 1 && words[0] === "reject" && !questions[0]?.options.includes("reject")) {
    throw new CommandError("To say no to a question use --reject.");
  }
  const answers = words.map((word, index) => choices(word, questions[index] ?? { options: [], multiple: false }));
  return { requestId, answers, ...why };
};

/** `opencode-taskchart answer` */
export const answerCommand: Command = {
  summary: "answer what a task asks of you, or show what is asked",
  help: HELP,
  run: async (args, screen) => {
    const options = {
      reject: { type: "boolean", default: false },
      message: { type: "string" },
      data: { type: "string" },
    } as const;
    const { values, argument: id, further: words } = readArguments(args, options, Number.POSITIVE_INFINITY);
    const isAnswer = words.length > 0 || values.reject || values.message !== undefined;
    if (id?.trim() === "" || (id === undefined && isAnswer)) throw new CommandError("Say which request: its id.");
    const api = connectStatusApi(values.data);
    const tasks = await api.live();
    const all = askedBy(tasks);
    const asked = id === undefined ? undefined : all.find(({ request }) => request.id === id);
    if (asked && isAnswer) {
      const answer = answerTo(asked.request, words, { reject: values.reject, message: values.message });
      const fault = replyProblem(asked.request, answer);
      if (fault) throw new CommandError(toSingleLine(fault));
      const task = await api.answer(asked.task.sessionID, answer);
      screen.say(`Answered. Task ${task.sessionID} "${toSingleLine(task.description)}" is ${task.status}.`);
      return EXIT.ok;
    }
    const meant = id === undefined ? tasks : tasks.filter(({ sessionID }) => sessionID.startsWith(id));
    const shown = asked ? [asked] : askedBy(meant);
    if (id !== undefined && !asked && meant.length === 0) {
      throw new CommandError(
        `No open request or running task has the id "${toSingleLine(id)}". It may have been answered. Without an id, all that is asked is shown.`,
      );
    }
    if (isAnswer && shown.length === 0) throw new CommandError("The task asks nothing.");
    if (isAnswer) {
      const lines = shown.map(({ request }) => `  ${answerLine(COMMAND, request)}`);
      throw new CommandError(["An answer goes to one request, with its id:", ...lines].join("\n"));
    }
    show(shown, screen);
    if (shown.length === 0) screen.say(id === undefined ? "No task asks anything." : "The task asks nothing.");
    return EXIT.ok;
  },
};
