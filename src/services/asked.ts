import type { Answer } from "../answer.ts";
import type { PendingRequest } from "../machines/task-events.ts";
import type { Question, Task } from "../task.ts";
import { inShort } from "./plain.ts";

/** What people are shown of a request: a child wrote it, and may write anything. */
export type ShownRequest = Pick<PendingRequest, "id" | "kind" | "what" | "questions" | "always">;

/** Characters of what a child asks that a toast or a list shows. */
export const IN_SHORT = 300;

/** Characters of it that are shown where it is answered: all that a person could read. */
const SHOWN = 4_000;

/** What is asked, in a line that follows the name of a task. */
export const requestLine = ({ kind, what }: ShownRequest, most = SHOWN): string =>
  kind === "permission" ? `asks permission for ${inShort(what, most)}` : `asks: ${inShort(what, most)}`;

/** What a person has to answer before the task goes on, in short; undefined when there is nothing. */
export const askedIn = ({ attention }: Pick<Task, "attention">): string | undefined =>
  attention && attention.kind !== "stale" ? `${attention.kind}: ${inShort(attention.what, IN_SHORT)}` : undefined;

/** What else there is to know before it is answered, a line each. */
export const detailLines = (request: ShownRequest): string[] =>
  request.always?.length ? [`- always allows: ${inShort(request.always.join(", "), SHOWN)}`] : questionLines(request);

/** Each question with its choices. */
const questionLines = ({ questions = [] }: ShownRequest): string[] =>
  questions.map(({ question, options, multiple, custom }) => {
    const choices = options.map((option) => `"${inShort(option, SHOWN)}"`);
    const rules = [multiple ? "several may be chosen" : "", custom ? "or something else" : ""].filter(Boolean);
    return `- ${inShort(question, SHOWN)} [${[...choices, ...rules].join(", ")}]`;
  });

/**
 * The command line that answers a request, and no other: what is asked next is not answered by it. As it is, a shell
 * refuses it: nobody allows anything by copying it.
 */
export const answerLine = (command: string, { id, kind, questions = [] }: ShownRequest): string =>
  kind === "permission"
    ? `${command} answer ${id} <once|always|reject>`
    : `${command} answer ${id} ${questions.map(() => "<answer>").join(" ")}  (or --reject)`;

/**
 * What a person reads in the conversation, where the interface shows nothing else of it. It is shown as it is, not as
 * Markdown.
 */
export const requestMessage = (
  { description, agent }: { description: string; agent: string },
  request: ShownRequest,
  command: string,
): string =>
  [
    `✋ Agent "${inShort(description, IN_SHORT)}" (${agent}) ${requestLine(request)}`,
    ...detailLines(request),
    "It waits for you. In a terminal:",
    answerLine(command, request),
  ].join("\n");

/** Why an answer does not fit what is asked, if it does not. */
export const faultOf = ({ id, kind, questions = [] }: ShownRequest, answer: Answer): string | undefined => {
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
    return `Request ${id} needs an answer for each of its questions: ${questions.length}, but has got ${answer.answers.length}.`;
  }
  return questions.map((question, index) => faultIn(question, answer.answers?.[index] ?? [])).find(Boolean);
};

const faultIn = ({ question, options, multiple, custom }: Question, chosen: string[]): string | undefined => {
  if (!multiple && chosen.length > 1) return `"${question}" takes one answer, but has got ${chosen.length}.`;
  const odd = custom ? undefined : chosen.find((choice) => !options.includes(choice));
  return odd === undefined ? undefined : `"${question}" does not take "${odd}". Choices: ${options.join(", ")}.`;
};
