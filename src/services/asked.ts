import type { Answer } from "../answer.ts";
import type { PendingRequest } from "../machines/task-events.ts";
import type { Task } from "../task.ts";

/** What is asked, in a line that follows the name of a task. */
export const requestLine = ({ kind, what }: PendingRequest): string =>
  kind === "permission" ? `asks permission for ${what}` : `asks: ${what}`;

const choicesOf = ({ kind, questions = [] }: PendingRequest): string[] =>
  kind === "permission"
    ? []
    : questions.map(({ question, options }) =>
        options.length === 0 ? `- ${question}` : `- ${question} (${options.join(" | ")})`,
      );

const waysOf = ({ kind, questions = [] }: PendingRequest): string =>
  kind === "permission" ? "once | always | reject" : `${questions.map(() => '"…"').join(" ")} | --reject`;

/** The command with which a person answers. */
export const answerCommand = (taskId: string, request: PendingRequest): string =>
  `npx opencode-taskchart answer ${taskId} ${waysOf(request)}`;

/** What a person reads in the conversation, where the interface shows nothing else of it. It is shown as it is, not as Markdown. */
export const requestMessage = ({ sessionID, description, agent }: Task, request: PendingRequest): string =>
  [
    `✋ Agent "${description}" (${agent}) ${requestLine(request)}`,
    ...choicesOf(request),
    "It waits for you. In a terminal:",
    answerCommand(sessionID, request),
  ].join("\n");

/** Why an answer does not fit what is asked, if it does not. */
export const faultOf = ({ id, kind, questions = [] }: PendingRequest, answer: Answer): string | undefined => {
  if (kind === "permission") {
    return answer.answers ? `Request ${id} asks a permission: answer with reply once, always or reject.` : undefined;
  }
  if (answer.reply === "reject") {
    return answer.message === undefined ? undefined : `Request ${id} is a question: it is rejected without a message.`;
  }
  if (!answer.answers) {
    return `Request ${id} is a question: give answers, one list for each question in turn, or reply reject.`;
  }
  if (answer.answers.length !== questions.length) {
    return `Request ${id} has ${questions.length} questions, but ${answer.answers.length} answers were given.`;
  }
  for (const [index, { question, options, multiple, custom }] of questions.entries()) {
    const chosen = answer.answers[index] ?? [];
    if (!multiple && chosen.length > 1) return `"${question}" takes one answer, but ${chosen.length} were given.`;
    const odd = custom ? undefined : chosen.find((choice) => !options.includes(choice));
    if (odd !== undefined) return `"${question}" does not take "${odd}". Choices: ${options.join(", ")}.`;
  }
  return undefined;
};
