import { useMemo, useState } from "preact/hooks";
import { type DiffFile, type DiffLine, readDiff } from "../../src/services/text/diff.ts";

/** Files, and lines of a file, up to which a file is open at first. */
const OPEN = { files: 5, lines: 200 };

/** Lines of a file that are drawn until a person asks for all. */
const SHOWN_LINES = 1_000;

const SIGNS: Readonly<Record<DiffLine["kind"], string>> = { added: "+", removed: "−", same: " ", hunk: " ", note: " " };

const Line = ({ kind, text, before, after }: DiffLine) => (
  <div class={kind}>
    <span class="number">{before}</span>
    <span class="number">{after}</span>
    <span class="sign">{SIGNS[kind]}</span>
    <code>{text}</code>
  </div>
);

const countOf = ({ lines }: DiffFile, kind: DiffLine["kind"]): number =>
  lines.filter((line) => line.kind === kind).length;

const File = ({ file, isOpenAtFirst }: { file: DiffFile; isOpenAtFirst: boolean }) => {
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  const [isWhole, setWhole] = useState(false);
  const { path, change, lines } = file;
  const hidden = isWhole ? 0 : Math.max(0, lines.length - SHOWN_LINES);
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <code>{path}</code> {change}{" "}
        {lines.length > 0 && (
          <>
            <span class="added">+{countOf(file, "added")}</span>{" "}
            <span class="removed">−{countOf(file, "removed")}</span>
          </>
        )}
      </summary>
      {isOpen && lines.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls sideways is to be reached by keys
        <section class="lines" tabIndex={0} aria-label={`What was changed in ${path}`}>
          {lines.slice(0, lines.length - hidden).map((line, index) => (
            <Line key={index} {...line} />
          ))}
        </section>
      )}
      {isOpen && hidden > 0 && (
        <button type="button" class="more" onClick={() => setWhole(true)}>
          Show {hidden} further lines
        </button>
      )}
    </details>
  );
};

/** What a task changed, file by file: a person looks at it before it is applied. */
export const Diff = ({ diff, isCut }: { diff: string; isCut: boolean }) => {
  const files = useMemo(() => readDiff(diff), [diff]);
  const isShort = files.length <= OPEN.files;
  return (
    <div class="diff">
      {files.map((file) => (
        <File key={file.path} file={file} isOpenAtFirst={isShort && file.lines.length <= OPEN.lines} />
      ))}
      {isCut && <p class="soft">There is more than is shown here: opencode-taskchart diff shows all of it.</p>}
    </div>
  );
};
