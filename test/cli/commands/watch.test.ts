import { expect, test, vi } from "vitest";
import { watchFrame } from "../../../src/cli/commands/list.ts";
import { runCommand } from "../../../src/cli/run-command.ts";
import type { ApiTask } from "../../../src/client/api-types.ts";
import { PATIENCE_MS } from "../../patience.ts";
import { serve } from "../../services/http/served.ts";
import { commandHere } from "../command-line.ts";
import { scriptedTerminal } from "../scripted-terminal.ts";

const NOW = Date.parse("2026-11-23T10:00:00.000Z");
const BEGAN = new Date(NOW - 133_000).toISOString();
const USED = { tokens: 1_000, cost: 0.5 };

const task = (sessionID: string, more: Partial<ApiTask> = {}) =>
  ({
    sessionID,
    status: "running",
    agent: "general",
    description: `about ${sessionID}`,
    runStartedAt: BEGAN,
    progress: { ...USED },
    usage: { ...USED },
    ...more,
  }) as ApiTask;

const known = (...tasks: ApiTask[]) => ({ tasks: new Map(tasks.map((each) => [each.sessionID, each])) });

test("a frame is as high as the screen: sums on top, the table, and what was left out below", () => {
  const tasks = Array.from({ length: 9 }, (_, index) => task(`ses_task00${index}`));
  const high = watchFrame(known(...tasks), scriptedTerminal({ columns: 80, rows: 20 }), NOW);
  expect(high).toHaveLength(20);
  expect(high.slice(0, 4)).toEqual([
    "9 running · 9k tokens · $4.50",
    "",
    "TASK     STATE    AGENT      TIME  TOKENS   COST  ABOUT",
    "task000  running  general  2m 13s      1k  $0.50  about ses_task000",
  ]);
  expect(high.at(-1)).toMatch(/^\d\d:\d\d:\d\d {2}q quits$/);
  const low = watchFrame(known(...tasks), scriptedTerminal({ columns: 80, rows: 10 }), NOW);
  expect(low).toHaveLength(10);
  expect(low.at(-1)).toMatch(/q quits {2}4 more lines: opencode-taskchart list$/);
  const ended = watchFrame(known(task("ses_a", { status: "completed", completedAt: BEGAN })), scriptedTerminal(), NOW);
  expect(ended[0]).toBe("No task is under way");
});

test("while OpenCode is not there, it says so, and shows what it last heard", () => {
  const server = { port: 1, pid: 2, startedAt: BEGAN, version: "1.0.0" };
  const lost = { ok: false, kind: "notRunning", reason: "gone" } as const;
  const [head, , , row, ...rest] = watchFrame({ ...known(task("ses_a")), server, lost }, scriptedTerminal(), NOW);
  expect(head).toBe("OpenCode is not running: open it in your project. Waiting for it.");
  expect(row).toContain("about ses_a");
  expect(rest.at(-1)).toContain("out of date");
  const busy = { ...lost, kind: "silent", reason: "It is busy." } as const;
  expect(watchFrame({ ...known(), lost: busy }, scriptedTerminal(), NOW)[0]).toBe("It is busy. Trying again.");
});

test("the table follows the tasks, across a restart, until q is pressed", async () => {
  const served = await serve();
  const terminal = scriptedTerminal({ isInteractive: true });
  served.source.launch({ description: "the first" });
  const ended = runCommand(["watch", "--data", served.folder], terminal);
  const shows = (text: string) =>
    vi.waitFor(() => expect(terminal.screen.frame.join("\n")).toContain(text), PATIENCE_MS);
  await shows("the first");
  served.source.launch({ description: "the second" });
  await served.clock.advance(20);
  await shows("the second");
  await served.server.stop();
  await shows("OpenCode is not running");
  const again = await serve({ folder: served.folder });
  again.source.launch({ description: "the third" });
  await shows("the third");
  expect(terminal.screen.isClosed).toBe(false);
  terminal.screen.press("x");
  terminal.screen.press("q");
  expect(await ended).toBe(0);
  expect(terminal.screen.isClosed).toBe(true);
});

test("without a terminal it says what to use instead", async () => {
  const { code, error } = await commandHere(["watch"]);
  expect(code).toBe(2);
  expect(error).toBe("watch needs a terminal. For a script use opencode-taskchart watch --json, or list.\n");
});
