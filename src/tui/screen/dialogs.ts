import type { TuiPluginApi } from "@opencode-ai/plugin/tui";
import { createComponent, type JSX, onCleanup } from "solid-js";
import type { AnswerStep, Choice, ChoiceValue } from "../model/answer-steps.ts";
import type { Explanation } from "../model/explanations.ts";
import { element } from "./element.ts";

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

/** OpenCode's dialogs, each as a promise of what the person says. Closed without a word, they resolve to undefined. */
export type Dialogs = ReturnType<typeof createDialogs>;

/**
 * Milliseconds after which a dialog that was closed is over: OpenCode sets a timer of one to give the keys back to the
 * prompt. A dialog that opens before that would have to share them with it (seen).
 */
const AFTER_FOCUS_MS = 2;

/** Creates the dialogs. Each replaces the one that is open, and keeps the keys by `keepKeys`. */
export const createDialogs = ({ ui, theme }: Pick<TuiPluginApi, "ui" | "theme">, keepKeys: () => void) => {
  /** Opens a dialog. OpenCode also calls `onClose` after a choice: then the promise has its value already. */
  const ask = <Value>(view: (resolve: (value: Value | undefined) => void) => JSX.Element): Promise<Value | undefined> =>
    new Promise((resolve) => {
      // OpenCode sets its timer after it has called us, so ours begins when that is done.
      const close = (value: Value | undefined) =>
        void setTimeout(() => setTimeout(() => resolve(value), AFTER_FOCUS_MS), 0);
      ui.dialog.replace(
        () => {
          keepKeys();
          return view(close);
        },
        () => close(undefined),
      );
    });

  return {
    /** Shows a text until the person has read it. */
    show: (text: Explanation) =>
      ask<true>((resolve) => createComponent(ui.DialogAlert, { ...text, onConfirm: () => resolve(true) })),
    confirm: (question: Explanation) =>
      ask<true>((resolve) =>
        createComponent(ui.DialogConfirm, {
          ...question,
          onConfirm: () => resolve(true),
          onCancel: () => resolve(undefined),
        }),
      ),
    /** Asks for a text, which is not empty. */
    write: (title: string, about: string) =>
      ask<string>((resolve) =>
        createComponent(ui.DialogPrompt, {
          title,
          description: () => element("text", { fg: () => theme.current.textMuted }, about),
          onConfirm: (text) => resolve(text.trim() === "" ? undefined : text.trim()),
          onCancel: () => resolve(undefined),
        }),
      ),
    choose: ({ title, choices }: AnswerStep) =>
      ask<ChoiceValue>((resolve) =>
        createComponent(ui.DialogSelect<ChoiceValue>, {
          title,
          options: choices.map((choice: Choice) => ({ ...choice, onSelect: () => resolve(choice.value) })),
        }),
      ),
  };
};
