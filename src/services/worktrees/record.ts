import { readFileSync } from "node:fs";
import { z } from "zod";
import type { WorktreeChanges } from "../../task.ts";
import { WorktreeChangesSchema } from "../../worktree-changes.ts";
import { writeWhole } from "../platform/private-files.ts";
import type { WorktreePaths } from "./folders.ts";

/** What is known of a worktree. It stays when the worktree is removed, for as long as there is its task. */
export const WorktreeRecord = z.object({
  /** The directory whose engine supervises the worktree's tasks. */
  project: z.string(),
  /** The top of the tree that it was made from. */
  source: z.string(),
  /** The folder in it where the agent works, from its top; empty for the top. */
  subfolder: z.string(),
  /** Epoch milliseconds. */
  createdAt: z.number(),
  /** The task that it was made for; absent until that has a session. */
  taskId: z.string().optional(),
  /** The commit that it was made at; absent where it was made from a tree as it stood. */
  commit: z.string().optional(),
  /**
   * The commit that it began with, by which its changes are counted; absent while it is being made. Of changes that came from
   * another server it is what a person had applied of them before.
   */
  base: z.string().optional(),
  /** What was in it when it began, and can be no change, see `LeftOut`; absent where that was nothing. */
  leftOut: z.array(z.string()).optional(),
  /** Why there is no worktree any more; absent where there is one. */
  gone: z
    .object({
      why: z.enum(["clean", "applied", "discarded", "expired", "sent"]),
      /** Epoch milliseconds. */
      at: z.number(),
      /** The commit of all that was in it when its changes were applied; absent where they were not. */
      end: z.string().optional(),
    })
    .optional(),
});
export type WorktreeRecord = z.infer<typeof WorktreeRecord>;

/** True while no person has decided what becomes of what was changed in it: it was neither applied nor discarded. */
export const isUndecided = ({ gone }: WorktreeRecord): boolean => gone === undefined || gone.why === "expired";

/** Reads a file of a worktree. Undefined where there is none, or another version of the plugin has written something else. */
export const readJson = <T>(file: string, schema: z.ZodType<T>): T | undefined => {
  try {
    return schema.safeParse(JSON.parse(readFileSync(file, "utf8"))).data;
  } catch (error) {
    const isMissing = error instanceof Error && "code" in error && error.code === "ENOENT";
    if (isMissing || error instanceof SyntaxError) return undefined;
    throw error;
  }
};

export const readRecord = ({ record }: WorktreePaths): WorktreeRecord | undefined => readJson(record, WorktreeRecord);

export const writeRecord = ({ record }: WorktreePaths, value: WorktreeRecord): void =>
  writeWhole(record, JSON.stringify(value));

/** Reads what was counted at the end of the task's newest run; undefined where nothing was. */
export const readChanges = ({ changes }: WorktreePaths): WorktreeChanges | undefined =>
  readJson(changes, WorktreeChangesSchema);

export const writeChanges = ({ changes }: WorktreePaths, value: WorktreeChanges): void =>
  writeWhole(changes, JSON.stringify(value));

/** True where nothing is lost when the worktree goes: all of it was counted, and is in the patch. */
export const isAllInPatch = ({ problem, leftOut }: WorktreeChanges): boolean => problem === undefined && !leftOut;
