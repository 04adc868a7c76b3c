import type { TuiPluginApi } from "@opencode-ai/plugin/tui";
import { createMemo, createSignal, onCleanup } from "solid-js";
import { afterPageKey, FIRST, FRAME_LINES, type Page, pageLines } from "../model/page.ts";
import { columnsIn, rowsIn } from "./dialog-size.ts";
import { element, linesView, type View } from "./element.ts";
import type { Guard } from "./guard.ts";
import type { Known } from "./known-tasks.ts";

/**
 * Draws a page in OpenCode's dialog, with keys of its own. OpenCode's own question has the harmful answer selected at first,
 * and shows no more text than fits.
 * @param taken is called with the place of the choice that is taken
 */
export const pageView = (
  { keymap, theme }: Pick<TuiPluginApi, "keymap" | "theme">,
  known: Pick<Known, "columns" | "rows">,
  guard: Guard,
  page: Page,
  taken: (choice: number) => void,
): View => {
  const [state, setState] = createSignal(FIRST);
  const columns = () => columnsIn(known.columns());
  const rows = () => rowsIn(known.rows(), FRAME_LINES);
  const body = createMemo(() => guard("a page could not be written", () => page.body(columns()), []));
  const size = () => ({ lines: body().length, rows: rows(), choices: page.choices.length });

  onCleanup(
    keymap.intercept("key", ({ event, consume }) =>
      guard(
        "a key of the page failed",
        () => {
          const next = afterPageKey(state(), event, size());
          if (next === undefined) return;
          consume();
          if (next === "taken") taken(state().selected);
          else setState(next);
        },
        undefined,
      ),
    ),
  );

  const lines = createMemo(() =>
    guard(
      "a page could not be drawn",
      () => pageLines(page, body(), state(), { columns: columns(), rows: rows() }),
      [],
    ),
  );
  const drawn = linesView(lines, () => theme.current);
  return element("box", { paddingLeft: 2, paddingRight: 2, paddingBottom: 1 }, drawn);
};
