import { z } from "@hono/zod-openapi";
import { ChangedFileSchema, LeftOutSchema } from "../../../worktree-changes.ts";

/** What a task left changed in its worktree, as the API returns it. */
export const Changes = z
  .object({
    tree: z.string().describe("The folder of the tree that the worktree was made from: `apply` changes it."),
    worktree: z.string().describe("The folder of the worktree."),
    patch: z.string().describe("A file with the changes, for `git apply`. There is none where nothing was changed."),
    files: z.array(ChangedFileSchema).describe("The changed files, by path."),
    leftOut: z
      .array(LeftOutSchema)
      .optional()
      .describe("What lies in the worktree and is not among the changes. Absent where that is nothing."),
    cutOff: z
      .object({
        became: z.enum(["finished", "undone"]).describe("All of the changes are in the tree now, or none of them."),
        left: z
          .array(
            z.object({
              path: z.string().describe("From the top of the tree, with slashes."),
              before: z
                .string()
                .optional()
                .describe("Where what stood there before is kept. Absent where nothing did."),
            }),
          )
          .describe("Files that were changed since the attempt, and stay as they are."),
      })
      .optional()
      .describe(
        "What became of an earlier attempt to apply the changes, which was cut off and found now. Absent where there was none.",
      ),
    became: z
      .enum(["clean", "applied", "discarded", "expired", "sent"])
      .optional()
      .describe(
        "Why the worktree is gone: nothing was changed in it, its changes were applied or discarded, it was kept for long enough, or its changes were sent to the server that launched the task. Absent while it is there.",
      ),
  })
  .meta({ id: "Changes", description: "What an ended task left changed in its worktree." });
export type Changes = z.infer<typeof Changes>;
