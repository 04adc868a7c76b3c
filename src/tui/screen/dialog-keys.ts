import type { TuiPluginApi } from "@opencode-ai/plugin/tui";
import { onCleanup } from "solid-js";

/** OpenCode's own name for keys that belong to the dialog that is open. */
const MODAL = "modal";

/**
 * Creates the function by which a dialog keeps the keys for as long as it is drawn: it is called while that is created.
 *
 * OpenCode gives the keys to the dialog that is opened, and then to a permission or a question that appears below it (seen
 * in 1.18): an `enter` that is meant for the dialog would answer what nobody has read. So they are given to the dialog again
 * before each key.
 */
export const createDialogKeys = ({ keymap, mode, lifecycle }: Pick<TuiPluginApi, "keymap" | "mode" | "lifecycle">) => {
  let drawn = 0;
  const taken: (() => void)[] = [];

  const take = (): void => {
    if (drawn > 0 && mode.current() !== MODAL) taken.push(mode.push(MODAL));
  };
  lifecycle.onDispose(keymap.intercept("key", take));

  return (): void => {
    drawn += 1;
    onCleanup(() => {
      drawn -= 1;
      if (drawn === 0) for (const giveBack of taken.splice(0)) giveBack();
    });
  };
};
