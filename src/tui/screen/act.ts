import type { TuiPluginApi } from "@opencode-ai/plugin/tui";
import { createComponent, type JSX, onCleanup } from "solid-js";
import type { ApiResult, ApiTask } from "../../client/api-types.ts";
import type { AskedRequest, StatusApiClient } from "../../client/status-api-client.ts";
import type { UserReply } from "../../user-request.ts";
import {
  type AnswerProgress,
  type AnswerStep,
  type Answers,
  afterText,
  type Choice,
  nextStep,
} from "../model/answer-steps.ts";
import { actionFor, refusalOf, requestsOf, type TaskAction } from "../model/list-state.ts";
import { type ModelChoice, modelChoices, SAME_MODEL } from "../model/model-choices.ts";
import { changesQuestion, type Explanation, noChanges, stopQuestion, whyText } from "../model/panel-messages.ts";
import { element } from "./element.ts";
import type { Guard } from "./guard.ts";

/** Does with a task what a person asks for in the list; `tasks` are those of its conversation. */
export type Act = ReturnType<typeof createActions>;

/**
 * Creates the function that does it. It resolves as soon as the person has said all that is needed. OpenCode may take seconds
 * to do it: a toast shows the outcome.
 */
export const createActions = (
  api: Pick<TuiPluginApi, "ui" | "theme" | "state">,
  client: StatusApiClient,
  guard: Guard,
  keepKeys: () => void,
) => {
  const { ui, state } = api;
  const dialogs = createDialogs(api, keepKeys);

  const send = (done: string, call: () => Promise<ApiResult<unknown>>): void =>
    guard.start("a task could not be changed", async () => {
      const result = await call();
      if (result.ok) ui.toast({ variant: "success", message: done });
      else ui.toast({ variant: "error", title: "Not done", message: result.reason, duration: 8_000 });
    });

  const reply = ({ task, request }: AskedRequest, given: UserReply): void =>
    send(`Answered the ${request.kind} of "${task.description}".`, () => client.answer(task.sessionID, given));

  /** Asks one step after the other until there is a reply, or the person gives up. */
  const answer = async (asked: AskedRequest): Promise<void> => {
    const { task, request } = asked;
    let answers: Answers = [[]];
    for (;;) {
      const step = nextStep(request, answers);
      let outcome = step && (await dialogs.choose(step));
      if (!step || !outcome) return;
      if ("write" in outcome) {
        const title = outcome.write === "message" ? "Say why it is rejected" : step.title;
        const text = await dialogs.write(title, `${task.description} (${task.agent})`);
        if (text === undefined) continue;
        outcome = afterText(request, answers, outcome.write, text);
      }
      if ("reply" in outcome) return reply(asked, outcome.reply);
      if ("answers" in outcome) answers = outcome.answers;
    }
  };

  /** Files may have changed since a gate saw them, which the tasks that are followed do not say. */
  const comparedTask = async (task: ApiTask): Promise<ApiTask> => {
    const read = task.receipt?.gate ? await client.task(task.sessionID) : undefined;
    return read?.ok ? read.value : task;
  };

  /** Shows a person what a task changed in its worktree, and then applies or discards it. */
  const decide = async (action: "apply" | "discard", task: ApiTask): Promise<void> => {
    const changes = await client.changes(task.sessionID);
    if (!changes.ok) return ui.toast({ variant: "info", message: changes.reason, duration: 8_000 });
    const question = changesQuestion(action, task, changes.value);
    if (!question) return ui.toast({ variant: "info", message: noChanges(changes.value) });
    if (!(await dialogs.confirm(question))) return;
    const done = action === "apply" ? "Applied" : "Discarded";
    send(`${done} the changes of "${task.description}".`, () => client[action](task.sessionID));
  };

  /** Asks for another model first, where that may help. */
  const retry = async (task: ApiTask): Promise<void> => {
    const { sessionID, description } = task;
    const choices = modelChoices(task, state.provider);
    const chosen = choices && (await dialogs.chooseModel("Retry with which model?", choices));
    if (choices && chosen === undefined) return;
    const prompt = await dialogs.writeOrNot("Retry, with a prompt or without", description);
    if (prompt === undefined) return;
    const other = chosen === SAME_MODEL ? undefined : chosen;
    send(`Retried "${description}".`, () => client.retry(sessionID, { prompt, model: other }));
  };

  return async (asked: Exclude<TaskAction, "open">, task: ApiTask, tasks: readonly ApiTask[]): Promise<void> => {
    const { sessionID, description } = task;
    const action = actionFor(asked, task);
    const refused = refusalOf(action, task);
    if (refused !== undefined) return ui.toast({ variant: "info", message: refused });
    switch (action) {
      case "why":
        await dialogs.show(whyText(await comparedTask(task), Date.now()));
        return;
      case "stop":
        if (await dialogs.confirm(stopQuestion(task, tasks)))
          send(`Stopped "${description}".`, () => client.cancel(sessionID));
        return;
      case "pause":
        return send(`Paused "${description}".`, () => client.pause(sessionID));
      case "continue":
        return send(`"${description}" goes on.`, () => client.continue(sessionID));
      case "retry":
        return retry(task);
      case "resume": {
        const prompt = await dialogs.write("Resume with a prompt", description);
        if (prompt !== undefined) send(`Resumed "${description}".`, () => client.resume(sessionID, prompt));
        return;
      }
      case "steer": {
        const prompt = await dialogs.write(
          "Steer with an instruction",
          `${description}: its agent sees it at its next step`,
        );
        if (prompt !== undefined) send(`Steered "${description}".`, () => client.steer(sessionID, prompt));
        return;
      }
      case "apply":
      case "discard":
        await decide(action, task);
        return;
      case "answer": {
        const [request] = requestsOf(task, tasks);
        if (request) await answer(request);
        return;
      }
    }
  };
};

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

/**
 * Milliseconds after which a dialog that was closed is over: OpenCode sets a timer of one to give the keys back to the
 * prompt. A dialog that opens before that would have to share them with it (seen).
 */
const AFTER_FOCUS_MS = 2;

/**
 * Creates OpenCode's dialogs, each as a promise of what the person says. Closed without a word, they resolve to undefined. Each
 * replaces the one that is open, and keeps the keys by `keepKeys`.
 */
const createDialogs = ({ ui, theme }: Pick<TuiPluginApi, "ui" | "theme">, keepKeys: () => void) => {
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

  /** Asks for a text, which may be empty. */
  const writeOrNot = (title: string, about: string) =>
    ask<string>((resolve) =>
      createComponent(ui.DialogPrompt, {
        title,
        description: () => element("text", { fg: () => theme.current.textMuted }, about),
        onConfirm: (text) => resolve(text.trim()),
        onCancel: () => resolve(undefined),
      }),
    );

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
    write: async (title: string, about: string) => (await writeOrNot(title, about)) || undefined,
    writeOrNot,
    chooseModel: (title: string, choices: ModelChoice[]) =>
      ask<string>((resolve) =>
        createComponent(ui.DialogSelect<string>, {
          title,
          options: choices.map((choice) => ({ ...choice, onSelect: () => resolve(choice.value) })),
        }),
      ),
    choose: ({ title, choices }: AnswerStep) =>
      ask<AnswerProgress>((resolve) =>
        createComponent(ui.DialogSelect<AnswerProgress>, {
          title,
          options: choices.map((choice: Choice) => ({ ...choice, onSelect: () => resolve(choice.value) })),
        }),
      ),
  };
};
