import type { OpenUserRequest, UserQuestion, UserReply } from "../../user-request.ts";
import { join, nameOf, type OwnText, own, quoteLine } from "./own-text.ts";

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
