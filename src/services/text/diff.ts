import { parsePatch, type StructuredPatch } from "diff";
import { codeLine } from "../platform/plain-text.ts";

/** A line of a diff: what it is, its text without the sign, and its number before and after, where it is there. */
export interface DiffLine {
  kind: "added" | "removed" | "same" | "hunk" | "note";
  text: string;
  before?: number;
  after?: number;
}

/** What was changed in one file. */
export interface DiffFile {
  path: string;
  /** What became of the file as a whole, such as `renamed from a.ts`; undefined where lines of it were changed. */
  change: string | undefined;
  /** Empty for a file that is no text, and for one that was only renamed. */
  lines: DiffLine[];
}

const KINDS: Readonly<Record<string, DiffLine["kind"]>> = { "+": "added", "-": "removed", " ": "same" };

const linesOf = ({ hunks }: StructuredPatch): DiffLine[] =>
  hunks.flatMap(({ oldStart, oldLines, newStart, newLines, lines }): DiffLine[] => {
    let [before, after] = [oldStart, newStart];
    const head = { kind: "hunk", text: `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@` } as const;
    const body = lines.map((line): DiffLine => {
      const kind = KINDS[line[0] ?? ""] ?? "note";
      return {
        kind,
        text: codeLine(kind === "note" ? line : line.slice(1)),
        ...(kind === "removed" || kind === "same" ? { before: before++ } : {}),
        ...(kind === "added" || kind === "same" ? { after: after++ } : {}),
      };
    });
    return [head, ...body];
  });

/** Removes what git puts before a name to tell the file before from the one after. */
const nameIn = (name: string | undefined, side: "a/" | "b/"): string =>
  name?.startsWith(side) ? name.slice(side.length) : (name ?? "");

const fileOf = (patch: StructuredPatch): DiffFile => {
  const [before, after] = [nameIn(patch.oldFileName, "a/"), nameIn(patch.newFileName, "b/")];
  const lines = linesOf(patch);
  const file = { path: patch.isDelete ? before : after, lines };
  if (patch.isCreate) return { ...file, change: "added" };
  if (patch.isDelete) return { ...file, change: "deleted" };
  if (patch.isRename) return { ...file, change: `renamed from ${before}` };
  if (patch.isCopy) return { ...file, change: `copied from ${before}` };
  if (lines.length > 0) return { ...file, change: undefined };
  return { ...file, change: patch.oldMode === patch.newMode ? "no text" : `mode ${patch.oldMode} → ${patch.newMode}` };
};

/** Reads a diff as git writes it, file by file. */
export const readDiff = (diff: string): DiffFile[] => (diff === "" ? [] : parsePatch(diff).map(fileOf));
