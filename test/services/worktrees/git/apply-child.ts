import { applyChanges, type FileChange } from "../../../../src/services/worktrees/git/apply-changes.ts";
import { treeAt } from "../../../../src/services/worktrees/git/working-tree.ts";

/** What the program applies, and the step before which it kills itself, by its number or name; none where it does not. */
interface ChildApply extends Pick<FileChange, "base" | "end" | "journal"> {
  top: string;
  killedBefore?: number | string;
}

/** Applies changes in a process of its own, and prints what became of it. */
const { top, killedBefore, ...change }: ChildApply = JSON.parse(process.argv[2] ?? "");
let steps = 0;
const onStep = (step: string) => {
  steps += 1;
  if (killedBefore === steps || killedBefore === step) process.kill(process.pid, "SIGKILL");
};
const applied = await applyChanges(await treeAt(top), { ...change, onStep }).catch((error) => String(error));
process.stdout.write(JSON.stringify({ applied, steps }));
