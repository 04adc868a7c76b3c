// ADR-182 in docs/decisions.md
import { LOOPBACK } from "../../services/http/loopback.ts";
import { openInBrowser } from "../browser.ts";
import { type CommandContext, CommandError, command, examples, printJson, TASK_ID, taskIdOf } from "../command.ts";
import { openClient, received } from "../status-api.ts";

/** `opencode-taskchart open`: opens the board in the browser, with the token that lets it act. */
export const openCommand = ({ terminal }: CommandContext) =>
  command("open", "open the board in your browser, and let it act")
    .argument("[task-id]", `${TASK_ID}; without it, the board opens with all tasks`)
    .option("--print", "print the address with its token, and open nothing")
    .addHelpText(
      "after",
      `
The board can then answer, steer, resume and cancel tasks, until its tab is closed or OpenCode ends. OpenCode must be
running. Where no browser can be opened, the address is printed: who has it can do the same.
${examples(["open", "all tasks"], ["open 4f5c9a", "one task"])}`,
    )
    .action(async (id, { json, data, print }) => {
      const client = openClient(data);
      const { port, token } = received(await client.server());
      if (token === undefined) {
        throw new CommandError("server.json has no token: OpenCode runs an older version of the plugin. Update it.");
      }
      const task = id === undefined ? undefined : received(await client.task(taskIdOf(id)));
      const query = task === undefined ? "" : `?task=${encodeURIComponent(task.sessionID)}`;
      const board = `http://${LOOPBACK}:${port}/${query}`;
      const url = `${board}#token=${token}`;
      if (json) return printJson(terminal, { url });
      if (print) return terminal.print(url);
      if (await openInBrowser(url)) return terminal.print(`The board is open at ${board}.`);
      terminal.print("No browser could be opened. Open this address, which lets whoever has it act:", url);
    });
