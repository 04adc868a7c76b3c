// A reply names the request that it answers: a reply to whatever is asked would also answer what is asked next, unseen.
import { z } from "zod";
import { join, nameOf, type OwnText, own, quoteLine } from "./services/text/own-text.ts";

/** One of the questions that are asked together. */
export const Question = z.object({
  question: z.string(),
  /** The choices that are offered. */
  options: z.array(z.string()),
  /** More than one choice may be given. */
  multiple: z.boolean(),
  /** An answer of the user's own may be given instead of a choice. */
  custom: z.boolean(),
});
export type Question = z.infer<typeof Question>;

/** A permission or a question of a child session that waits for the user's answer. */
export const OpenUserRequest = z.object({
  id: z.string(),
  kind: z.enum(["permission", "question"]),
  /** What the child asks, in words. */
  what: z.string(),
  since: z.iso.datetime(),
  /** Absent for a permission. */
  questions: z.array(Question).optional(),
  /** The patterns that the reply `always` allows from then on; absent for a question. */
  always: z.array(z.string()).optional(),
});
export type OpenUserRequest = z.infer<typeof OpenUserRequest>;

/** The user's reply to a permission or a question of a task. */
export const UserReply = z
  .strictObject({
    requestId: z
      .string()
      .min(1)
      .describe("The request that it replies to, so that nobody answers a newer one without having seen it."),
    reply: z
      .enum(["once", "always", "reject"])
      .optional()
      .describe("`once` and `always` grant a permission; `reject` rejects a permission or a question."),
    message: z.string().trim().min(1).optional().describe("Tells the child why a permission is rejected."),
    answers: z
      .array(z.array(z.string().trim().min(1)).min(1))
      .min(1)
      .optional()
      .describe("The answers to each question, in the order of the questions."),
  })
  .refine(({ reply, answers }) => (reply === undefined) !== (answers === undefined), {
    error: "give reply or answers, and not both",
  })
  .refine(({ reply, message }) => message === undefined || reply === "reject", {
    path: ["message"],
    error: "goes with reject only",
  });
export type UserReply = z.infer<typeof UserReply>;

/** The part of a request that a reply is checked against. */
type Asked = { id: string; kind: OpenUserRequest["kind"]; questions?: Question[] | undefined };

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

const answerProblem = ({ question, options, multiple, custom }: Question, answers: string[]): OwnText | undefined => {
  const asked = quoteLine(question);
  if (!multiple && answers.length > 1) return own`${asked} takes one answer, but got ${answers.length}.`;
  const unknown = custom ? undefined : answers.find((answer) => !options.includes(answer));
  if (unknown === undefined) return undefined;
  const choices = options.map((option) => quoteLine(option));
  return own`${asked} does not take ${quoteLine(unknown)}. Choices: ${join(choices, ", ")}.`;
};
