import type { StatusApiClient } from "../../client/status-api-client.ts";
import { hasEnded } from "../../task.ts";
import { type CommandContext, CommandError, command, examples, printJson, TASK_ID, taskIdOf } from "../command.ts";
import { readConversation, type ShownMessage, type ShownPart } from "../conversation.ts";
import { openClient, received } from "../status-api.ts";
import { clockTime, type Terminal, wrap } from "../terminal.ts";

const INDENT = "  ";

const partLines = ({ kind, text, state }: ShownPart, terminal: Terminal): string[] => {
  const columns = Math.max(20, terminal.columns - INDENT.length);
  if (kind === "tool") {
    const line = `⚙ ${text}`;
    return [
      `${INDENT}${terminal.style("cyan", wrap(line, columns).join(`\n${INDENT}  `))}  ${terminal.style("dim", state ?? "")}`,
    ];
  }
  const lines = text.split("\n").flatMap((line) => wrap(line.trimEnd(), columns));
  return lines.map((line) => (line === "" ? "" : INDENT + (kind === "reasoning" ? terminal.style("dim", line) : line)));
};

/** Prints the parts of a conversation that have not been printed yet, and knows which have. */
const createPrinter = (terminal: Terminal) => {
  const printed = new Set<string>();
  let lastMessage: string | undefined;

  const headline = ({ id, author, at }: ShownMessage) => {
    if (lastMessage === id) return;
    if (lastMessage !== undefined) terminal.print("");
    lastMessage = id;
    terminal.print(`${terminal.style("dim", clockTime(at).slice(0, 8))}  ${terminal.style("bold", author)}`);
  };

  /** With `isWhole` parts that are still being written are printed too. */
  return (messages: readonly ShownMessage[], { isWhole }: { isWhole: boolean }) => {
    for (const message of messages) {
      for (const part of message.parts) {
        if (printed.has(part.id)) continue;
        // What comes after it waits, so that the order stays.
        if (!part.isDone && !isWhole) return;
        printed.add(part.id);
        headline(message);
        terminal.print(...partLines(part, terminal));
      }
      const errorId = `${message.id} error`;
      if (message.error !== undefined && !printed.has(errorId)) {
        printed.add(errorId);
        headline(message);
        terminal.print(`${INDENT}${terminal.style("red", message.error)}`);
      }
    }
  };
};

/** Prints a conversation until its task has ended, across restarts of OpenCode. */
const follow = async (client: StatusApiClient, id: string, terminal: Terminal): Promise<void> => {
  const print = createPrinter(terminal);
  const ending = new AbortController();
  for await (const event of client.follow(ending.signal)) {
    if (event.type === "lost") terminal.note(event.failure.reason);
    if (event.type === "removed" && event.sessionID === id) return terminal.note("The task was cleared.");
    if (event.type === "lost" || event.type === "removed") continue;
    if (event.type === "task" && event.task.sessionID !== id) continue;
    const task = event.type === "task" ? event.task : received(await client.task(id));
    const isWhole = hasEnded(task);
    const messages = await client.logs(id);
    if (messages.ok) print(readConversation(messages.value), { isWhole });
    if (isWhole) return terminal.note(`The task is ${task.status}.`);
  }
};

/** `opencode-taskchart logs`: prints the conversation of a task. */
export const logsCommand = ({ terminal }: CommandContext) =>
  command("logs", "print a task's conversation, as it happens if you like")
    .argument("<task-id>", TASK_ID)
    .option("-f, --follow", "go on until the task has ended")
    .addHelpText(
      "after",
      `\nOpenCode must be running.\n${examples(["logs 4f5c9a --follow", "look over its shoulder"])}`,
    )
    .action(async (given, { follow: isFollowing = false, json, data }) => {
      if (isFollowing && json) throw new CommandError("--follow cannot be combined with --json: use watch --json.");
      const client = openClient(data);
      const { sessionID } = received(await client.task(taskIdOf(given)));
      if (isFollowing) return follow(client, sessionID, terminal);
      const messages = received(await client.logs(sessionID));
      if (json) return printJson(terminal, messages);
      createPrinter(terminal)(readConversation(messages), { isWhole: true });
    });
