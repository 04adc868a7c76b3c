import type { Answer } from "../answer.ts";
import type { OpenRequest, Task } from "../task.ts";
import { readArguments } from "./arguments.ts";
import { type Command, CommandError, EXIT } from "./command.ts";
import { plain, type Screen } from "./screen.ts";
import { openStatusApi } from "./status-api.ts";
import { clockTime } from "./times.ts";

const HELP = `Usage: opencode-taskchart answer [<task-id> [<answer> ...]] [--request <id>] [--reject] [--message <why>] [--data <folder>]

Answers what a task asks of you. Without an answer it shows what is asked; without a task, what all tasks ask.

  <task-id>        a task's id, or the beginning of it
  <answer>         for a permission: once, always or reject
                   for questions: one answer for each, in their order; where several may be chosen, with commas
  --request <id>   which request, where the task asks more than one thing
  --reject         say no, to a permission or to questions
  --message <why>  with a rejected permission: what the agent is told
  --data <folder>  where the plugin keeps its files; default: $XDG_DATA_HOME/opencode-taskchart
                   or ~/.local/share/opencode-taskchart

OpenCode must be running: the answer goes to its status API.

Exit code: 0 it is answered, or shown; 2 it is not, for the reason that is said.`;

interface Asking {
  task: Task;
  request: OpenRequest;
}

/** What all tasks ask. A request holds up the tasks above too: it is the newest task's, which stands nearest. */
const everything = (tasks: Task[]): Asking[] => {
  const asking = tasks.flatMap((task) => (task.attention?.requests ?? []).map((request) => ({ task, request })));
  return asking.filter(({ request }, index) => asking.findIndex((other) => other.request.id === request.id) === index);
};

const waysOf = ({ kind, questions = [] }: OpenRequest): string =>
  kind === "permission" ? "once | always | reject" : `${questions.map(() => '"…"').join(" ")}  or  --reject`;

const questionLines = ({ questions = [] }: OpenRequest): string[] =>
  questions.map(({ question, options, multiple, custom }) => {
    const rules = [multiple ? "several may be chosen" : "", custom ? "or something else" : ""].filter(Boolean);
    const choices = [...options.map((option) => `"${plain(option)}"`), ...rules].join(", ");
    return `  - ${plain(question)}${choices ? `  [${choices}]` : ""}`;
  });

const lines = ({ task, request }: Asking, isOnly: boolean, { paint }: Screen): string[] => [
  `${paint("bold", task.sessionID)}  "${plain(task.description)}" (${plain(task.agent)}), since ${clockTime(Date.parse(request.since)).slice(0, 8)}`,
  request.kind === "permission" ? `  asks permission for ${plain(request.what)}` : "  asks:",
  ...questionLines(request),
  paint(
    "dim",
    `  opencode-taskchart answer ${task.sessionID} ${waysOf(request)}${isOnly ? "" : ` --request ${request.id}`}`,
  ),
];

const show = (asking: Asking[], screen: Screen) => {
  for (const one of asking) {
    screen.say(...lines(one, asking.filter(({ task }) => task === one.task).length === 1, screen));
  }
};

/** The one request that is meant. */
const chosen = (asking: Asking[], id: string, requestId: string | undefined): Asking => {
  const [only, ...others] = requestId === undefined ? asking : asking.filter(({ request }) => request.id === requestId);
  if (!only) throw new CommandError(`Request ${requestId} of task ${id} is not open.`);
  if (others.length === 0) return only;
  const list = asking.map(({ task, request }) => `  ${request.id}  ${task.sessionID}  ${plain(request.what)}`);
  throw new CommandError(["Several things are asked. Say which, with --request:", ...list].join("\n"));
};

/** One question's answer: a choice as it is, or several with commas between them. */
const choices = (answer: string, { options, multiple }: { options: string[]; multiple: boolean }): string[] =>
  !multiple || options.includes(answer) ? [answer] : answer.split(",").map((choice) => choice.trim());

const isReply = (word: string | undefined): word is "once" | "always" | "reject" =>
  word === "once" || word === "always" || word === "reject";

const answerOf = (
  { id: requestId, kind, questions = [] }: OpenRequest,
  words: string[],
  reject: boolean,
  message: string | undefined,
): Answer => {
  const why = message === undefined ? {} : { message };
  if (reject && words.length > 0) throw new CommandError("--reject stands by itself: leave the answer out.");
  if (reject) return { requestId, reply: "reject", ...why };
  if (kind === "question") {
    const answers = words.map((word, index) => choices(word, questions[index] ?? { options: [], multiple: false }));
    return { requestId, answers, ...why };
  }
  const [reply, ...more] = words;
  if (!isReply(reply) || more.length > 0) {
    throw new CommandError(`A permission takes once, always or reject, not "${words.join(" ")}".`);
  }
  return { requestId, reply, ...why };
};

/** `opencode-taskchart answer` */
export const answerCommand: Command = {
  summary: "answer what a task asks of you, or show what is asked",
  help: HELP,
  run: async (args, screen) => {
    const options = {
      request: { type: "string" },
      reject: { type: "boolean", default: false },
      message: { type: "string" },
      data: { type: "string" },
    } as const;
    const { values, argument: id, further: words } = readArguments(args, options, Number.POSITIVE_INFINITY);
    const api = openStatusApi(values.data);
    const tasks = await api.live();
    if (id === undefined) {
      const asking = everything(tasks);
      show(asking, screen);
      if (asking.length === 0) screen.say("No task asks anything.");
      return EXIT.ok;
    }
    const meant = tasks.filter(({ sessionID }) => sessionID.startsWith(id));
    const asking = everything(meant);
    if (meant.length === 0)
      throw new CommandError(`No task "${id}" is running. Without a task, all that is asked is shown.`);
    if (asking.length === 0) throw new CommandError(`Task ${id} asks nothing, or it was answered already.`);
    if (words.length === 0 && !values.reject) {
      show(asking, screen);
      return EXIT.ok;
    }
    const { task, request } = chosen(asking, id, values.request);
    const answered = await api.answer(task.sessionID, answerOf(request, words, values.reject, values.message));
    screen.say(`Answered. Task ${answered.sessionID} "${plain(answered.description)}" is ${answered.status}.`);
    return EXIT.ok;
  },
};
