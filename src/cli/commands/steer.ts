import { toSingleLine } from "../../services/platform/plain-text.ts";
import { type Command, CommandError, EXIT, parseArguments } from "../command.ts";
import { openClient, received } from "../status-api.ts";

const HELP = `Usage: opencode-taskchart steer <task-id> <prompt> ... [--data <folder>]

Gives a running task a further instruction. Its agent sees it at its next step, and goes on with its task.

  <task-id>        the task's id, or the beginning of it
  <prompt>         the instruction; several words need no quotes, but put -- before one that starts with -
  --data <folder>  the plugin's data folder; default: $XDG_DATA_HOME/opencode-taskchart
                   or ~/.local/share/opencode-taskchart

OpenCode must be running: the instruction is sent to its status API.

Exit code: 0 if the task took it; 2 if it failed, with the reason on standard error.`;

/** `opencode-taskchart steer`: gives a running task a further instruction. */
export const steerCommand: Command = {
  summary: "give a running task a further instruction",
  help: HELP,
  run: async (args, terminal) => {
    const {
      values,
      argument: id,
      further,
    } = parseArguments(args, { data: { type: "string" } }, Number.POSITIVE_INFINITY);
    const prompt = further.join(" ");
    if (id === undefined || id.trim() === "") throw new CommandError("Give the id of a task.");
    if (prompt.trim() === "") throw new CommandError("Give the instruction, after the task's id.");
    const task = received(await openClient(values.data).steer(id, prompt));
    terminal.print(
      `Task ${task.sessionID} "${toSingleLine(task.description)}" was given the instruction: its agent sees it at its next step.`,
    );
    return EXIT.ok;
  },
};
