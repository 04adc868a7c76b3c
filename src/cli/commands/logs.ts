import { type Message, messagesOf, type Part } from "../../client/conversation.ts";
import type { StatusApiClient } from "../../client/status-api-client.ts";
import { wrap } from "../../services/platform/columns.ts";
import { toSingleLine } from "../../services/platform/plain-text.ts";
import { hasEnded } from "../../task.ts";
import { type CommandContext, CommandError, command, examples, printJson, TASK_ID, taskIdOf } from "../command.ts";
import { openClient, received } from "../task-source.ts";
import { clockTime, type Terminal } from "../terminal.ts";

const INDENT = "  ";

/** A tool call in a line: its name, and the title that the tool gave it, or its arguments. */
const toolLine = ({ tool, title, input }: Extract<Part, { kind: "tool" }>): string =>
  `⚙ ${toSingleLine(`${tool} ${title || JSON.stringify(input)}`)}`;

const partLines = (part: Part, terminal: Terminal): string[] => {
  const columns = Math.max(20, terminal.columns - INDENT.length);
  if (part.kind === "tool") {
    const { status, error } = part;
    const state = error === "" ? status : toSingleLine(`${status}: ${error}`);
    const line = wrap(toolLine(part), columns).join(`\n${INDENT}  `);
    return [`${INDENT}${terminal.style("cyan", line)}  ${terminal.style("dim", state)}`];
  }
  const lines = part.text
    .trim()
    .split("\n")
    .flatMap((line) => wrap(line.trimEnd(), columns));
  const paint = (line: string) => (part.kind === "reasoning" ? terminal.style("dim", line) : line);
  return lines.map((line) => (line === "" ? "" : INDENT + paint(line)));
};

/** Who wrote a message: the user, or the agent and its model. */
const authorOf = ({ role, agent, model }: Message): string =>
  role === "user" ? "user" : toSingleLine([agent || "agent", model].filter(Boolean).join(", "));

/** Prints the parts of a conversation that have not been printed yet, and knows which have. */
const createPrinter = (terminal: Terminal) => {
  const printed = new Set<string>();
  let lastMessage: string | undefined;

  const headline = (message: Message) => {
    if (lastMessage === message.id) return;
    if (lastMessage !== undefined) terminal.print("");
    lastMessage = message.id;
    const time = clockTime(message.at ?? 0).slice(0, 8);
    terminal.print(`${terminal.style("dim", time)}  ${terminal.style("bold", authorOf(message))}`);
  };

  /** With `isWhole` parts that are still being written are printed too. */
  return (messages: readonly Message[], { isWhole }: { isWhole: boolean }) => {
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
      if (message.error !== "" && !printed.has(errorId)) {
        printed.add(errorId);
        headline(message);
        terminal.print(`${INDENT}${terminal.style("red", toSingleLine(message.error))}`);
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
    if (messages.ok) print(messagesOf(messages.value), { isWhole });
    if (isWhole) return terminal.note(`The task is ${task.status}.`);
  }
};

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
      createPrinter(terminal)(messagesOf(messages), { isWhole: true });
    });
