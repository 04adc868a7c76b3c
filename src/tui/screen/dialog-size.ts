/** Columns of OpenCode's large dialog, and those of the margins outside and inside it. */
const DIALOG = { columns: 88, outside: 2, inside: 4 };

/** Returns how many columns a dialog has for what it shows. */
export const columnsIn = (screenColumns: number): number =>
  Math.min(DIALOG.columns, screenColumns - DIALOG.outside) - DIALOG.inside;

/** Rows of OpenCode's frame, above and below what a dialog shows. It shows dialogs in the lower three quarters of the screen. */
const FRAME_ROWS = 4;

/** Returns how many rows a dialog has for what it shows, beside `taken` others: three at least. */
export const rowsIn = (screenRows: number, taken: number): number =>
  Math.max(3, Math.min(40, Math.floor(screenRows * 0.75) - FRAME_ROWS - taken));
