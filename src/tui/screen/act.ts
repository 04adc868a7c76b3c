import type { TuiPluginApi } from "@opencode-ai/plugin/tui";
import { createComponent, type JSX, onCleanup } from "solid-js";
import type { ApiResult, ApiTask, Changes } from "../../client/api-types.ts";
import type { StatusApiClient } from "../../client/status-api-client.ts";
import type { UserReply } from "../../user-request.ts";
import {
  type AnswerProgress,
  type AnswerStep,
  type Answers,
  afterText,
  type Choice,
  nextStep,
} from "../model/answer-steps.ts";
import { isForMany, type ManyAction, planFor, refusalOf, requestsOf, type TaskAction } from "../model/list-state.ts";
import { type ModelChoice, modelChoices, SAME_MODEL } from "../model/model-choices.ts";
import { diffLines, type Page, textLines } from "../model/page.ts";
import {
  changesQuestion,
  type Explanation,
  noChanges,
  type Question,
  stopQuestion,
  thatCanBe,
  whyText,
} from "../model/panel-messages.ts";
import type { AskedRequest } from "../model/tasks.ts";
import { element } from "./element.ts";
import type { Guard } from "./guard.ts";
import type { Known } from "./known-tasks.ts";
import { pageView } from "./page-dialog.ts";

/** Does with tasks what a person asks for in the list; `all` are those that are listed. */
export type Act = ReturnType<typeof createActions>;

/**
 * Creates the function that does it. It resolves as soon as the person has said all that is needed, to whether anything is done.
 * OpenCode may take seconds to do it: a toast shows the outcome.
 */
export const createActions = (
  api: Pick<TuiPluginApi, "ui" | "theme" | "state" | "keymap">,
  client: StatusApiClient,
  known: Pick<Known, "columns" | "rows">,
  guard: Guard,
  keepKeys: () => void,
) => {
  const { ui, state } = api;
  const dialogs = createDialogs(api, known, guard, keepKeys);

  const failed = (reason: string): void =>
    ui.toast({ variant: "error", title: "Not done", message: reason, duration: 8_000 });

  const send = (done: string, call: () => Promise<ApiResult<unknown>>): void =>
    guard.start("a task could not be changed", async () => {
      const result = await call();
      if (result.ok) ui.toast({ variant: "success", message: done });
      else failed(result.reason);
    });

  /** Does the same with each of some tasks, and says of how many it was done. */
  const sendAll = (
    verb: string,
    tasks: readonly ApiTask[],
    call: (id: string) => Promise<ApiResult<unknown>>,
  ): void => {
    const [first] = tasks;
    if (first && tasks.length === 1) {
      send(`${verb} "${first.description}".`, () => call(first.sessionID));
      return;
    }
    guard.start("tasks could not be changed", async () => {
      const results = await Promise.all(tasks.map(({ sessionID }) => call(sessionID)));
      const reasons = results.flatMap((result) => (result.ok ? [] : result.reason));
      const done = tasks.length - reasons.length;
      if (done > 0) ui.toast({ variant: "success", message: `${verb} ${done} ${done === 1 ? "task" : "tasks"}.` });
      if (reasons.length > 0) failed(`${reasons.length} of ${tasks.length}: ${reasons[0]}`);
    });
  };

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

  /** Shows a person what tasks changed in their worktrees, and then applies or discards it, up to the first that conflicts. */
  const decide = async (action: "apply" | "discard", tasks: readonly ApiTask[]): Promise<boolean> => {
    const read: { task: ApiTask; changes: Changes }[] = [];
    for (const task of tasks) {
      const changes = await client.changes(task.sessionID);
      if (changes.ok) read.push({ task, changes: changes.value });
      else if (tasks.length === 1) ui.toast({ variant: "info", message: changes.reason, duration: 8_000 });
    }
    const question = changesQuestion(action, read);
    const [first] = read;
    if (!question) {
      if (first) ui.toast({ variant: "info", message: noChanges(first.changes) });
      return false;
    }
    if (!(await dialogs.confirm(question))) return false;
    const verb = action === "apply" ? "Applied" : "Discarded";
    const done: string[] = [];
    for (const { task } of thatCanBe(action, read)) {
      const result = await client[action](task.sessionID);
      if (result.ok) {
        done.push(`"${task.description}"`);
        continue;
      }
      const before = done.length > 0 ? `${verb} the changes of ${done.join(", ")}.\n\n` : "";
      await dialogs.show({ title: "Not done", message: `${before}${result.reason}` });
      return true;
    }
    const what = done.length === 1 ? done.join("") : `${done.length} tasks`;
    ui.toast({ variant: "success", message: `${verb} the changes of ${what}.` });
    return true;
  };

  const nameOf = (tasks: readonly ApiTask[]): string =>
    tasks.length === 1 ? (tasks[0]?.description ?? "") : `${tasks.length} tasks`;

  /** Asks for another model first, where that may help. */
  const retry = async (tasks: readonly ApiTask[]): Promise<boolean> => {
    const [first] = tasks;
    const choices = first && tasks.length === 1 ? modelChoices(first, state.provider) : undefined;
    const chosen = choices && (await dialogs.chooseModel("Retry with which model?", choices));
    if (choices && chosen === undefined) return false;
    const prompt = await dialogs.writeOrNot("Retry, with a prompt or without", nameOf(tasks));
    if (prompt === undefined) return false;
    const other = chosen === SAME_MODEL ? undefined : chosen;
    sendAll("Retried", tasks, (id) => client.retry(id, { prompt, model: other }));
    return true;
  };

  /** Asks for a text, and sends it to each of the tasks. */
  const sendText = async (action: "resume" | "steer", tasks: readonly ApiTask[]): Promise<boolean> => {
    const name = nameOf(tasks);
    const text =
      action === "resume"
        ? await dialogs.write("Resume with a prompt", name)
        : await dialogs.write("Steer with an instruction", `${name}: its agent sees it at its next step`);
    if (text === undefined) return false;
    sendAll(action === "resume" ? "Resumed" : "Steered", tasks, (id) => client[action](id, text));
    return true;
  };

  const actOnMany = async (
    action: ManyAction,
    tasks: readonly ApiTask[],
    all: readonly ApiTask[],
  ): Promise<boolean> => {
    switch (action) {
      case "stop":
        if (!(await dialogs.confirm(stopQuestion(tasks, all)))) return false;
        sendAll("Stopped", tasks, client.cancel);
        return true;
      case "pause":
        sendAll("Paused", tasks, client.pause);
        return true;
      case "continue":
        sendAll("Told to go on:", tasks, client.continue);
        return true;
      case "retry":
        return retry(tasks);
      case "resume":
      case "steer":
        return sendText(action, tasks);
      case "apply":
      case "discard":
        return decide(action, tasks);
    }
  };

  return async (
    asked: Exclude<TaskAction, "open">,
    chosen: readonly ApiTask[],
    all: readonly ApiTask[],
  ): Promise<boolean> => {
    const refuse = (message: string): false => {
      ui.toast({ variant: "info", message });
      return false;
    };
    if (isForMany(asked)) {
      const plan = planFor(asked, chosen);
      return "refused" in plan ? refuse(plan.refused) : actOnMany(plan.action, plan.tasks, all);
    }
    const [task] = chosen;
    if (!task) return false;
    const refused = refusalOf(asked, task);
    if (refused !== undefined) return refuse(refused);
    if (asked === "why") {
      await dialogs.show(whyText(await comparedTask(task), Date.now()));
      return false;
    }
    const [request] = requestsOf(task, all);
    if (request) await answer(request);
    return true;
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
const createDialogs = (
  { ui, theme, keymap }: Pick<TuiPluginApi, "ui" | "theme" | "keymap">,
  known: Pick<Known, "columns" | "rows">,
  guard: Guard,
  keepKeys: () => void,
) => {
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

  /** Shows a page. Resolves to the place of the choice that the person takes. */
  const turnTo = (page: Page) => {
    const taken = ask<number>((resolve) => pageView({ keymap, theme }, known, guard, page, resolve));
    ui.dialog.setSize("large");
    return taken;
  };

  return {
    /** Shows a text until the person has read it. */
    show: ({ title, message }: Explanation) =>
      turnTo({ title, body: (columns) => textLines(message, columns), choices: ["Close"] }),
    /** Asks a question, whose harmless answer is selected at first. */
    confirm: async ({ title, message, keep, go, diffs = [] }: Question): Promise<boolean> => {
      const body = (columns: number) => [
        ...textLines(message, columns),
        ...diffs.flatMap((diff) => diffLines(diff, columns)),
      ];
      return (await turnTo({ title, body, choices: [keep, go] })) === 1;
    },
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
