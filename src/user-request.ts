import { z } from "zod";

/** What a person answers to what a task asks. */
export const UserReply = z
  .strictObject({
    /** Which request: so that nobody answers what was asked meanwhile, and was not seen. */
    requestId: z.string().min(1),
    /** `once` and `always` allow what a permission asks; `reject` says no to a permission or a question. */
    reply: z.enum(["once", "always", "reject"]).optional(),
    /** For the child, why a permission is rejected. */
    message: z.string().trim().min(1).optional(),
    /** For each question in turn, what is chosen or said. */
    answers: z
      .array(z.array(z.string().trim().min(1)).min(1))
      .min(1)
      .optional(),
  })
  .refine(({ reply, answers }) => (reply === undefined) !== (answers === undefined), {
    error: "give reply or answers, and not both",
  })
  .refine(({ reply, message }) => message === undefined || reply === "reject", {
    path: ["message"],
    error: "goes with reject only",
  });
export type UserReply = z.infer<typeof UserReply>;
