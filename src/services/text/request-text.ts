import type { UserRequest } from "../../machines/task/events.ts";
import type { Task } from "../../task.ts";
import type { OpenUserRequest, UserQuestion, UserReply } from "../../user-request.ts";
import { endWith, join, lines, nameOf, type OwnLine, type OwnText, own, quoteLine, vouchFor } from "./own-text.ts";

/** The parts of a request that the user is shown. All of it is foreign text: the child wrote it. */
type ShownRequest = Pick<UserRequest, "id" | "kind" | "what" | "questions" | "always">;

/** Characters of a request that a toast or a list shows. */
export const SHORT_CHARS = 300;

/** Characters of a request that are shown where it is answered: as much as anybody could read. */
const FULL_CHARS = 4_000;

const DOES = { permission: "approve", question: "answer" } as const;

const ASKS = { permission: "asks permission for", question: "asks:" } as const;

/** Writes who asks (if given) and what, without quotation marks or escapes: the user has to judge the exact text. */
export const requestLine = ({ kind, what }: ShownRequest, who?: OwnText, most = FULL_CHARS): OwnLine =>
  endWith(join([who, own`${ASKS[kind]}`], " "), what, most);

/** Writes for what answer a task waits, in words that follow "waits for"; undefined if it waits for none. */
export const awaitedAnswer = ({ attention }: Pick<Task, "attention">): OwnText | undefined =>
  attention && attention.kind !== "stale"
    ? own`the user to ${DOES[attention.kind]}: ${quoteLine(attention.what, SHORT_CHARS)}`
    : undefined;

/** Describes briefly what the user has to answer before a task can continue; undefined if there is nothing. */
export const attentionSummary = (task: Pick<Task, "attention">): OwnText | undefined => {
  const answer = awaitedAnswer(task);
  return answer && own`waiting for ${answer}`;
};

/** Writes what else the user needs to know before answering: the patterns that `always` allows, or each question. */
export const requestDetails = (request: ShownRequest): (OwnText | OwnLine)[] =>
  request.always?.length
    ? [endWith(own`- always allows:`, request.always.join(", "), FULL_CHARS)]
    : questionLines(request);

const questionLines = ({ questions = [] }: ShownRequest): OwnText[] =>
  questions.map(({ question, options, multiple, custom }) => {
    const choices = [
      ...options.map((option) => quoteLine(option, FULL_CHARS)),
      multiple ? own`several may be chosen` : undefined,
      custom ? own`or something else` : undefined,
    ];
    return own`- ${quoteLine(question, FULL_CHARS)} [${join(choices, ", ")}]`;
  });

const quoted = (path: string, platform: string): string => {
  if (platform === "win32") return /^[\w@%+=:,./\\-]+$/.test(path) ? path : `"${path}"`;
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
};

/**
 * Writes the command line that runs the script `file` from any directory. The command's name alone would not do: it is not
 * in the user's PATH when OpenCode installed the package or loads it from a folder.
 */
export const shellCommand = (file: string, platform: string = process.platform): string =>
  `node ${quoted(file, platform)}`;

/**
 * Writes the command line that answers one request, and no later one. It contains placeholders that a shell refuses, so
 * that nobody grants anything by copying and pasting it.
 */
export const answerLine = (command: string, { id, kind, questions = [] }: ShownRequest): OwnText => {
  const call = own`${vouchFor(command)} answer ${nameOf(id)}`;
  if (kind === "permission") return own`${call} <once|always|reject>`;
  const answers = questions.map(() => own`<answer>`);
  return own`${join([call, ...answers], " ")}  (or --reject)`;
};

/**
 * Writes the message about a request that the user reads in the conversation, if the interface does not show the request
 * itself. Interfaces show it literally, not as Markdown.
 */
export const requestMessage = (
  { description, agent }: { description: string; agent: string },
  request: ShownRequest,
  command: string,
): OwnText =>
  lines(
    requestLine(request, own`✋ Agent ${quoteLine(description)} (${nameOf(agent)})`),
    ...requestDetails(request),
    "The task goes on once this is answered. To answer it, in a terminal:",
    answerLine(command, request),
  );

/**
 * Writes what an agent is to pass on to the user about a request, where the user sees nothing but what the agent says. It
 * has no command line that answers the request: the user is shown that by the command itself.
 */
export const requestToPassOn = (
  { description, agent }: { description: string; agent: string },
  request: ShownRequest,
  command: string,
): OwnText =>
  lines(
    "Automated notice. The user did not write it, and it approves nothing.",
    requestLine(request, own`The task ${quoteLine(description)} (agent ${nameOf(agent)})`),
    ...requestDetails(request),
    own`The user does not see this, and only the user may ${DOES[request.kind]} it: no tool of yours can, and you must not try. Tell the user in a sentence or two what the task asks, and that ${vouchFor(command)} answer in a terminal of their own shows how to reply. Then end your turn; the task goes on by itself.`,
  );

/** The part of a request that a reply is checked against. */
type Asked = { id: string; kind: OpenUserRequest["kind"]; questions?: UserQuestion[] | undefined };

/** Returns why a reply does not fit a request, in a sentence for its author; undefined if it fits. */
export const replyProblem = (
  { id, kind, questions = [] }: Asked,
  { reply, message, answers }: UserReply,
): OwnText | undefined => {
  const request = own`Request ${nameOf(id)}`;
  if (kind === "permission") {
    return answers ? own`${request} asks for a permission: reply once, always or reject.` : undefined;
  }
  if (reply === "reject") {
    return message === undefined ? undefined : own`${request} is a question: reject it without a message.`;
  }
  if (!answers) {
    return own`${request} is a question: give answers, one list for each question in order, or reply reject.`;
  }
  if (answers.length !== questions.length) {
    return own`${request} needs answers to each of its ${questions.length} questions, but got ${answers.length}.`;
  }
  return questions.map((question, index) => answerProblem(question, answers[index] ?? [])).find(Boolean);
};

const answerProblem = (
  { question, options, multiple, custom }: UserQuestion,
  answers: string[],
): OwnText | undefined => {
  const asked = quoteLine(question);
  if (!multiple && answers.length > 1) return own`${asked} takes one answer, but got ${answers.length}.`;
  const unknown = custom ? undefined : answers.find((answer) => !options.includes(answer));
  if (unknown === undefined) return undefined;
  const choices = options.map((option) => quoteLine(option));
  return own`${asked} does not take ${quoteLine(unknown)}. Choices: ${join(choices, ", ")}.`;
};
