import { z } from "zod";

export const ChangedFileSchema = z.object({
  path: z.string().describe("From the top of the tree, with slashes."),
  change: z.enum(["added", "modified", "deleted"]).describe("What was done with it."),
  added: z.int().nonnegative().optional().describe("Lines that were added; absent for a file that is not text."),
  removed: z.int().nonnegative().optional().describe("Lines that were removed; absent for a file that is not text."),
});

export const LeftOutSchema = z.object({
  path: z
    .string()
    .describe("From the top of the tree, with slashes. A folder ends with one, or is one whose name git refuses."),
  why: z
    .enum(["ignored", "name", "repository"])
    .describe(
      "`ignored`: a `.gitignore` that the task wrote hides it. `name`: git takes no file of such a name, as below `.GIT`, so that nothing can be applied. `repository`: a repository of its own, of which the files are among the changes, and the history is not.",
    ),
});

/** What a task changed in its worktree, as it was counted at the end of a run. */
export const WorktreeChangesSchema = z.object({
  /** The newest run that it has the changes of. */
  run: z.int().nonnegative(),
  /** When they were counted, in epoch milliseconds. */
  at: z.number(),
  /** By path; none where nothing was changed. */
  files: z.array(ChangedFileSchema),
  /** Absent where nothing is left out. */
  leftOut: z.array(LeftOutSchema).optional(),
  /** Why they could not be counted, in git's words; absent where they were. */
  problem: z.string().optional(),
  /**
   * What became of them: taken by a person, removed by one, kept for as long as the options say, or sent to the server that
   * launched the task. Absent until then.
   */
  became: z.enum(["applied", "discarded", "expired", "sent"]).optional(),
});
