// A reply names the request that it answers: a reply to whatever is asked would also answer what is asked next, unseen.
import { z } from "zod";

export const UserQuestion = z.object({
  question: z.string().describe("The question."),
  options: z.array(z.string()).describe("The choices that are offered."),
  multiple: z.boolean().describe("True when more than one choice may be given."),
  custom: z.boolean().describe("True when an answer of one's own may be given instead of a choice."),
});
export type UserQuestion = z.infer<typeof UserQuestion>;

/** A permission or a question of a child session that waits for the user's answer. */
export const OpenUserRequest = z.object({
  id: z.string().describe("Names the request in the reply to it."),
  kind: z.enum(["permission", "question"]).describe("Whether the agent asks for a permission or has questions."),
  what: z.string().describe("What the agent asks, in words."),
  since: z.iso.datetime().describe("When it was asked."),
  questions: z
    .array(UserQuestion)
    .optional()
    .describe("The questions that are asked together; absent for a permission."),
  always: z
    .array(z.string())
    .optional()
    .describe("The patterns that the reply `always` allows from then on; absent for a question."),
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
    message: z.string().trim().min(1).optional().describe("Tells the agent why a permission is rejected."),
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
