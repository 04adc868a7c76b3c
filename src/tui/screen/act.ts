import type { TuiPluginApi } from "@opencode-ai/plugin/tui";
import type { ApiResult } from "../../client/api-result.ts";
import type { StatusApiClient } from "../../client/status-api-client.ts";
import type { UserReply } from "../../user-request.ts";
import { type AnswerProgress, type Answers, afterChoice, afterText, nextStep } from "../model/answer-steps.ts";
import { changesQuestion, noChanges, stopQuestion, whyText } from "../model/explanations.ts";
import { refusalOf, requestsOf, type TaskAction } from "../model/list-state.ts";
import type { AskedRequest, PanelTask } from "../model/tasks.ts";
import type { Dialogs } from "./dialogs.ts";
import type { Guard } from "./guard.ts";

/** Does with a task what a person asks for in the list; `tasks` are those of its conversation. */
export type Act = (action: Exclude<TaskAction, "open">, task: PanelTask, tasks: readonly PanelTask[]) => Promise<void>;

/**
 * Creates the actions. Each resolves as soon as the person has said all that is needed. OpenCode may take seconds to do it:
 * a toast shows the outcome.
 */
export const createActions = (
  ui: TuiPluginApi["ui"],
  client: Pick<StatusApiClient, "cancel" | "resume" | "steer" | "answer" | "changes" | "apply" | "discard">,
  dialogs: Dialogs,
  guard: Guard,
): Act => {
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
      const chosen = step && (await dialogs.choose(step));
      if (!chosen) return;
      let outcome: AnswerProgress = afterChoice(request, answers, chosen);
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

  /** Shows a person what a task changed in its worktree, and then applies or discards it. */
  const decide = async (action: "apply" | "discard", task: PanelTask): Promise<void> => {
    const changes = await client.changes(task.sessionID);
    if (!changes.ok) return ui.toast({ variant: "info", message: changes.reason, duration: 8_000 });
    const question = changesQuestion(action, task, changes.value);
    if (!question) return ui.toast({ variant: "info", message: noChanges(changes.value) });
    if (!(await dialogs.confirm(question))) return;
    const done = action === "apply" ? "Applied" : "Discarded";
    send(`${done} the changes of "${task.description}".`, () => client[action](task.sessionID));
  };

  return async (action, task, tasks) => {
    const { sessionID, description } = task;
    const refused = refusalOf(action, task);
    if (refused !== undefined) return ui.toast({ variant: "info", message: refused });
    switch (action) {
      case "why":
        await dialogs.show(whyText(task, Date.now()));
        return;
      case "stop":
        if (await dialogs.confirm(stopQuestion(task, tasks)))
          send(`Stopped "${description}".`, () => client.cancel(sessionID));
        return;
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
        const [asked] = requestsOf(task, tasks);
        if (asked) await answer(asked);
        return;
      }
    }
  };
};
