import manifest from "../../../package.json" with { type: "json" };
import { columnsOf, wrap } from "../../services/platform/columns.ts";
import { toSingleLine } from "../../services/platform/plain-text.ts";
import { dataFolder } from "../../services/platform/private-files.ts";
import { loadSqlite, type OpenDatabase } from "../../services/store/sqlite/driver.ts";
import { type CommandContext, command, EXIT, examples, printJson } from "../command.ts";
import {
  type Check,
  checkDatabase,
  checkFolder,
  checkProcesses,
  checkServer,
  type Examined,
} from "../doctor/machine.ts";
import { checkOpenCode, checkOptions } from "../doctor/opencode.ts";
import { sqliteRuntime } from "../task-database.ts";
import type { Style, Terminal } from "../terminal.ts";

/** Returns undefined where this runtime has no SQLite. */
const loadIfThere = (): OpenDatabase | undefined => {
  try {
    return loadSqlite({ readonly: true });
  } catch {
    // Which runtime has one is said by the check of the runtime.
    return undefined;
  }
};

const checkRuntime = (openDatabase: OpenDatabase | undefined): Check => {
  const { bun, node } = process.versions;
  const runtime = bun === undefined ? `Node ${node}` : `Bun ${bun}`;
  const found = [`${runtime}, opencode-taskchart ${manifest.version}`];
  if (openDatabase) return { about: "runtime", state: "ok", found: [...found, "with SQLite"] };
  const other = sqliteRuntime();
  if (other) {
    return {
      about: "runtime",
      state: "ok",
      found: [...found, `without SQLite: commands that need it run with ${other.name}`],
    };
  }
  const advice = "Use Node 22.13 or newer, or put bun or opencode into the PATH.";
  return {
    about: "runtime",
    state: "wrong",
    found: [...found, "without SQLite: replay, export and whatif do not work"],
    advice,
  };
};

const examine = async (examined: Examined): Promise<Check[]> => {
  const openDatabase = loadIfThere();
  const now = Date.now();
  const { check: database, owners } = checkDatabase(examined, openDatabase);
  const [openCode, options, server] = await Promise.all([
    checkOpenCode(examined),
    checkOptions(examined),
    checkServer(examined, now),
  ]);
  const processes = checkProcesses(examined, owners, now);
  return [checkRuntime(openDatabase), openCode, options, checkFolder(examined), database, processes, ...server];
};

const MARKS: Record<Check["state"], { mark: string; style: Style }> = {
  ok: { mark: "✓", style: "green" },
  note: { mark: "·", style: "cyan" },
  wrong: { mark: "✗", style: ["bold", "red"] },
  unknown: { mark: "?", style: "yellow" },
};

const ABOUT = "processes".length;

const show = (checks: readonly Check[], terminal: Terminal) => {
  const indent = " ".repeat(ABOUT + 4);
  for (const { about, state, found, advice } of checks) {
    const { mark, style } = MARKS[state];
    const columns = terminal.columns - indent.length;
    const together = found.map(toSingleLine).join(" · ");
    const lines =
      columnsOf(together) <= columns ? [together] : found.flatMap((line) => wrap(toSingleLine(line), columns));
    const [first = "", ...more] = lines;
    terminal.print(
      `${terminal.style(style, mark)} ${about.padEnd(ABOUT)}  ${first}`,
      ...more.map((line) => indent + line),
      ...(advice === undefined
        ? []
        : wrap(`→ ${toSingleLine(advice)}`, columns).map((line) => indent + terminal.style("bold", line))),
    );
  }
};

export const doctorCommand = ({ terminal, end }: CommandContext) =>
  command("doctor", "look for what is wrong, and say what to do about it")
    .addHelpText(
      "after",
      `
Looks at the runtime, OpenCode and the options that it has in this folder, the data folder and its
database, the processes that have it open, the server and its port. It changes nothing.
Exit code: 0 if nothing is wrong, 1 if something is.
${examples(["doctor", "in the folder of your project"])}`,
    )
    .action(async ({ json, data }) => {
      const checks = await examine({ folder: data ?? dataFolder(), directory: process.cwd(), env: process.env });
      const wrong = checks.filter(({ state }) => state === "wrong").length;
      if (wrong > 0) end(EXIT.found);
      if (json) return printJson(terminal, { isHealthy: wrong === 0, checks });
      show(checks, terminal);
      const sum =
        wrong === 0 ? "Nothing is wrong." : wrong === 1 ? "One thing is wrong." : `${wrong} things are wrong.`;
      terminal.print("", terminal.style("bold", sum));
    });
