// ADR-245, ADR-257 in docs/decisions.md
import { join } from "node:path";
import type { ChangedFile } from "../../../task.ts";
import { changesBetween } from "./changes.ts";
import type { WorkingTree } from "./git.ts";
import { type Conflict, merge } from "./merge.ts";
import { type Placement, place } from "./placing.ts";
import { entriesBetween } from "./placing-plan.ts";
import { takeSnapshot } from "./snapshot.ts";
import { treeAt, withObjects, withTemporaryFolder } from "./working-tree.ts";

/** What became of changes that were to be applied. */
export type Applied =
  /** The files that changed by it: none where the tree had all of it already. */
  | { ok: true; files: ChangedFile[] }
  /** Nothing was changed. */
  | { ok: false; conflicts: Conflict[] };

/** Changes to be applied: those from one commit to another. */
export interface Change extends Pick<Placement, "journal" | "filtersIn" | "onStep"> {
  base: string;
  end: string;
}

/**
 * Applies what changed from `base` to `end` to a working tree, beside what changed there meanwhile: all of it, or nothing.
 * The index is left alone: what is staged stays staged, and new files are untracked.
 * @throws GitError that says what is in the way, such as a file that git ignores; nothing is changed then
 */
export const applyChanges = async (tree: WorkingTree, { base, end, ...placement }: Change): Promise<Applied> =>
  withTemporaryFolder((folder) =>
    withObjects(tree, async (objects) => {
      const index = join(folder, "index");
      const { commit: ours } = await takeSnapshot(tree, index);
      const merged = await merge(objects, tree, { base, ours, theirs: end });
      if (!merged.ok) return merged;
      const files = await changesBetween(objects, ours, merged.tree);
      if (files.length === 0) return { ok: true, files };
      const entries = await entriesBetween(objects, ours, merged.tree);
      await place({ tree, entries, to: merged.tree, index, files, ...placement });
      return { ok: true, files };
    }),
  );

/** The same to the tree that a person's directory belongs to. @throws GitError */
export const applyIn = async (directory: string, change: Change): Promise<Applied> =>
  applyChanges(await treeAt(directory), change);
