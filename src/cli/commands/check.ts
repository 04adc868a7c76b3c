import { type CommandContext, CommandError, command, examples } from "../command.ts";

/** `opencode-taskchart check`: checks journals against the promises that every journal keeps. */
export const checkCommand = (context: CommandContext) =>
  command(
    "check",
    "check a task's journal against the promises that every journal keeps",
    "Check an exported journal against the promises that every journal keeps. They are checked without the statechart that wrote the journal, so that a fault of the chart shows, which a replay would repeat.",
  )
    .argument("[file]", "an exported journal, from this machine or another")
    .option("--all", "check the journals of all stored tasks")
    .addHelpText(
      "after",
      `
Exit code: 0 if all promises are kept, 1 if one is broken, 3 if the journal does not start at the launch.
${examples(["check task.json", "an exported journal"], ["check --all", "all that is stored here"])}`,
    )
    .action(async (path, { all = false, json = false, data }) => {
      if (path !== undefined && (all || data !== undefined))
        throw new CommandError("A file cannot be combined with --all or --data.");
      if (path !== undefined) return (await import("../check-journals.ts")).checkFile(path, context, json);
      if (!all) throw new CommandError('Give a file written by the command "export", or --all for all stored tasks.');
      await (await import("../check-journals.ts")).checkStored(data, context, json);
    });
