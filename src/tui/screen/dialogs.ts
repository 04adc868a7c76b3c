import type { TuiPluginApi } from "@opencode-ai/plugin/tui";
import { createComponent, type JSX } from "solid-js";
import type { Choice, ChoiceValue, Step } from "../model/answer-steps.ts";
import type { Explanation } from "../model/explanations.ts";
import { element } from "./element.ts";

/** OpenCode's dialogs, each as a promise of what the person says. Closed without a word, they resolve to undefined. */
export interface Dialogs {
  /** Shows a text until the person has read it. */
  show(text: Explanation): Promise<true | undefined>;
  confirm(question: Explanation): Promise<true | undefined>;
  /** Asks for a text, which is not empty. */
  write(title: string, about: string): Promise<string | undefined>;
  choose(step: Step): Promise<ChoiceValue | undefined>;
}

/**
 * Milliseconds after which a dialog that was closed is over: OpenCode sets a timer of one to give the keys back to the
 * prompt. A dialog that opens before that would have to share them with it (seen).
 */
const AFTER_FOCUS_MS = 2;

/** Creates the dialogs. Each replaces the one that is open, and keeps the keys by `keepKeys`. */
export const createDialogs = ({ ui, theme }: Pick<TuiPluginApi, "ui" | "theme">, keepKeys: () => void): Dialogs => {
  /** Opens a dialog. OpenCode also calls `onClose` after a choice: then the promise has its value already. */
  const ask = <Value>(view: (resolve: (value: Value | undefined) => void) => JSX.Element): Promise<Value | undefined> =>
    new Promise((resolve) => {
      // OpenCode sets its timer after it has called us, so ours begins when that is done.
      const settle = (value: Value | undefined) =>
        void setTimeout(() => setTimeout(() => resolve(value), AFTER_FOCUS_MS), 0);
      ui.dialog.replace(
        () => {
          keepKeys();
          return view(settle);
        },
        () => settle(undefined),
      );
    });

  return {
    show: (text) =>
      ask<true>((resolve) => createComponent(ui.DialogAlert, { ...text, onConfirm: () => resolve(true) })),
    confirm: (question) =>
      ask<true>((resolve) =>
        createComponent(ui.DialogConfirm, {
          ...question,
          onConfirm: () => resolve(true),
          onCancel: () => resolve(undefined),
        }),
      ),
    write: (title, about) =>
      ask<string>((resolve) =>
        createComponent(ui.DialogPrompt, {
          title,
          description: () => element("text", { fg: () => theme.current.textMuted }, about),
          onConfirm: (text) => resolve(text.trim() === "" ? undefined : text.trim()),
          onCancel: () => resolve(undefined),
        }),
      ),
    choose: ({ title, choices }) =>
      ask<ChoiceValue>((resolve) =>
        createComponent(ui.DialogSelect<ChoiceValue>, {
          title,
          options: choices.map((choice: Choice) => ({ ...choice, onSelect: () => resolve(choice.value) })),
        }),
      ),
  };
};
