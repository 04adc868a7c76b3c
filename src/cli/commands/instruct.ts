import { type CommandContext, command, examples, named, printJson, promptOf, TASK_ID, taskIdOf } from "../command.ts";
import { openClient, received } from "../open-api.ts";

/** `opencode-taskchart steer`: gives a running task a further instruction. */
export const steerCommand = ({ terminal }: CommandContext) =>
  command("steer", "give a running task a further instruction")
    .argument("<task-id>", TASK_ID)
    .argument("<instruction...>", "several words need no quotes; put -- before one that starts with -")
    .addHelpText(
      "after",
      `
Its agent sees the instruction at its next step, and goes on with its task. OpenCode must be running.
${examples(["steer 4f5c9a only the tests, please", "change the course of a task"])}`,
    )
    .action(async (id, words, { json, data }) => {
      const task = received(await openClient(data).steer(taskIdOf(id), promptOf(words, "instruction")));
      if (json) return printJson(terminal, task);
      terminal.print(`Task ${named(task)} was given the instruction: its agent sees it at its next step.`);
    });

/** `opencode-taskchart resume`: sends a completed task a follow-up prompt. */
export const resumeCommand = ({ terminal }: CommandContext) =>
  command("resume", "send a completed task a follow-up prompt")
    .argument("<task-id>", TASK_ID)
    .argument("<prompt...>", "several words need no quotes; put -- before one that starts with -")
    .addHelpText(
      "after",
      `
The task goes on in its conversation, and its result is delivered as the first one was. OpenCode must be running.
${examples(["resume 4f5c9a now write the tests", "have it do more"])}`,
    )
    .action(async (id, words, { json, data }) => {
      const task = received(await openClient(data).resume(taskIdOf(id), promptOf(words, "prompt")));
      if (json) return printJson(terminal, task);
      terminal.print(`Task ${named(task)} goes on with that prompt.`);
    });
