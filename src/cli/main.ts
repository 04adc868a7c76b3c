#!/usr/bin/env node
import { errorMessage } from "../services/platform/log.ts";
import { escapeUnprintable } from "../services/platform/plain-text.ts";
import { CommandError, EXIT } from "./command.ts";
import { runCommand } from "./run-command.ts";
import { NoSqliteError, runWith, sqliteRuntime } from "./task-database.ts";
import { openTerminal } from "./terminal.ts";

// Node warns that its SQLite is experimental. The user of a command cannot act on that.
const { emitWarning } = process;
process.emitWarning = ((warning: string | Error, ...rest: never[]) => {
  if (!String(warning).startsWith("SQLite")) emitWarning(warning, ...rest);
}) as typeof emitWarning;

// The reader of the output may close it early, as `head` does.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit();
});

const args = process.argv.slice(2);
try {
  process.exitCode = await runCommand(args, openTerminal(process));
} catch (error) {
  const other = error instanceof NoSqliteError ? sqliteRuntime() : undefined;
  process.exitCode = other ? runWith(other, args) : report(error);
}

/** Explains why a command failed, and returns the exit code for that. */
function report(error: unknown): number {
  const isExpected = error instanceof CommandError;
  const reason = isExpected ? error.message : `Internal error in opencode-taskchart: ${errorMessage(error)}`;
  process.stderr.write(`${escapeUnprintable(reason)}\n`);
  return isExpected ? error.code : EXIT.failed;
}
