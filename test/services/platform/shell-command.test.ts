import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { test as baseTest, describe, expect, vi } from "vitest";
import { OUTPUT_CHARS, runShellCommand } from "../../../src/services/platform/shell-command.ts";
import { PATIENCE_MS } from "../../patience.ts";

/** Longer than any command of these tests may take. */
const LONG = 60_000;

const runIn =
  (directory: string) =>
  (command: string, timeoutMs = LONG, signal = new AbortController().signal) =>
    runShellCommand({ command, directory, timeoutMs, signal });

/** Each test has a directory of its own, so that those that wait can wait together. */
const test = baseTest.extend("directory", ({ task }, { onCleanup }) => {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), `taskchart-command${task.id}-`)));
  onCleanup(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
});

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

/** The process id that a command wrote into a file of its directory. */
const writtenPid = (directory: string, name = "pid") =>
  vi.waitFor(
    () => {
      const pid = Number(readFileSync(join(directory, name), "utf8"));
      if (!pid) throw new Error("not written yet");
      return pid;
    },
    { timeout: PATIENCE_MS },
  );

const untilGone = (pid: number) => vi.waitFor(() => expect(isAlive(pid)).toBe(false), { timeout: PATIENCE_MS });

describe("a command", () => {
  test.for([
    ["true", 0],
    ["exit 3", 3],
    ["no-such-command-here", 127],
    ["kill -9 $$", 137],
  ] as const)("ends with its exit code: %s", async ([command, exit], { directory }) => {
    expect(await runIn(directory)(command)).toMatchObject({ end: "exited", exit });
  });

  test("runs in its directory, without input, and what it writes to both outputs is kept", async ({ directory }) => {
    const { output } = await runIn(directory)("pwd; cat; echo oops >&2");
    expect(output).toBe(`${directory}\noops\n`);
  });

  test("keeps the end of a long output", async ({ directory }) => {
    const { output } = await runIn(directory)('i=0; while [ $i -lt 2000 ]; do echo "line $i äöü"; i=$((i+1)); done');
    expect(output).toHaveLength(OUTPUT_CHARS);
    expect(output.endsWith("line 1999 äöü\n")).toBe(true);
  });

  test("is not given the secrets that OpenCode keeps in its environment", async ({ directory }) => {
    vi.stubEnv("OPENCODE_AUTH_CONTENT", "secret");
    vi.stubEnv("SOMETHING_ELSE", "shown");
    const { output } = await runIn(directory)('echo "$OPENCODE_AUTH_CONTENT/$SOMETHING_ELSE"');
    vi.unstubAllEnvs();
    expect(output).toBe("/shown\n");
  });

  test("that cannot be started says why", async ({ directory }) => {
    const missing = { command: "true", directory: join(directory, "gone"), timeoutMs: LONG };
    const end = await runShellCommand({ ...missing, signal: new AbortController().signal });
    expect(end).toMatchObject({ end: "notRun" });
    expect(end.output).toContain("ENOENT");
  });
});

describe.concurrent("nothing of a command is left", () => {
  test("when it has ended, though it left a process behind that holds its output open", async ({ directory }) => {
    const end = await runIn(directory)("sleep 300 & echo $! > pid; exit 2");
    expect(end).toMatchObject({ end: "exited", exit: 2 });
    await untilGone(await writtenPid(directory));
  });

  test("at its time limit, though it does not heed being asked to end", async ({ directory }) => {
    const end = await runIn(directory)(
      "trap '' TERM; (trap '' TERM; sleep 300) & echo $! > pid; echo begun; wait; sleep 300",
      500,
    );
    expect(end).toEqual({ end: "timedOut", output: expect.stringContaining("begun") });
    await untilGone(await writtenPid(directory));
  });

  test("when it is aborted, even before it has begun", async ({ directory }) => {
    const stopper = new AbortController();
    const ended = runIn(directory)("echo $$ > pid; sleep 300", LONG, stopper.signal);
    const pid = await writtenPid(directory);
    stopper.abort();
    expect(await ended).toMatchObject({ end: "timedOut" });
    await untilGone(pid);
    expect(await runIn(directory)("sleep 300", LONG, stopper.signal)).toMatchObject({ end: "timedOut" });
  });

  /** Ways in which a command leaves a process behind that holds its output open. Each writes the process's id to `pid`. */
  const STRAYS = [
    ["in a session of its own", "setsid sh -c 'echo $$ > pid; exec sleep 300' &"],
    [
      "whose parents have ended",
      "(setsid sh -c '(echo begun; setsid sh -c \"echo \\$\\$ > pid; exec sleep 300\") &' &) &",
    ],
    ["that ignores signals", "setsid sh -c 'trap \"\" TERM HUP INT; echo $$ > pid; while :; do sleep 1; done' &"],
    [
      "that a command of the command started",
      "setsid env TASKCHART_COMMAND_1=1 sh -c 'echo $$ > pid; exec sleep 300' &",
    ],
  ] as const;
  const AWAIT_PID = "while [ ! -s pid ]; do sleep 0.01; done;";

  test.for(STRAYS)("when it has ended, though it left a process %s", async ([, stray], { directory }) => {
    expect(await runIn(directory)(`${stray} ${AWAIT_PID} exit 4`)).toMatchObject({ end: "exited", exit: 4 });
    await untilGone(await writtenPid(directory));
  });

  test.for(STRAYS)("at its time limit, though it left a process %s", async ([, stray], { directory }) => {
    expect(await runIn(directory)(`${stray} ${AWAIT_PID} sleep 300`, 1_500)).toMatchObject({ end: "timedOut" });
    await untilGone(await writtenPid(directory));
  });

  test("when the process that started it is killed", async ({ directory }) => {
    const module = fileURLToPath(new URL("../../../src/services/platform/shell-command.ts", import.meta.url));
    const script = `import { runShellCommand } from ${JSON.stringify(module)};
      await runShellCommand({ command: "setsid sh -c 'echo $$ > stray; exec sleep 300' & echo $$ > pid; sleep 300", directory: ${JSON.stringify(directory)}, timeoutMs: 60000, signal: new AbortController().signal });`;
    const inline = process.versions.bun === undefined ? ["--input-type=module-typescript", "-e"] : ["-e"];
    const child = execFile(process.execPath, [...inline, script], () => undefined);
    await vi.waitFor(() => expect(existsSync(join(directory, "pid"))).toBe(true), { timeout: PATIENCE_MS });
    const [pid, stray] = [await writtenPid(directory), await writtenPid(directory, "stray")];
    child.kill("SIGKILL");
    await untilGone(pid);
    await untilGone(stray);
  });
});

describe.concurrent("nothing keeps the end of a command waiting", () => {
  /** A process that cannot be found: it has left the group, and its environment is empty. */
  const HIDDEN = "setsid env -i /bin/sh -c 'echo $$ > pid; exec sleep 60' & while [ ! -s pid ]; do sleep 0.01; done;";

  const endHidden = async (directory: string) => process.kill(await writtenPid(directory), "SIGKILL");

  test("not a process that cannot be found and holds its output open", async ({ directory }) => {
    expect(await runIn(directory)(`${HIDDEN} echo said; exit 5`)).toEqual({ end: "exited", exit: 5, output: "said\n" });
    await endHidden(directory);
  });

  test("not such a process at its time limit", async ({ directory }) => {
    expect(await runIn(directory)(`${HIDDEN} sleep 300`, 1_500)).toMatchObject({ end: "timedOut" });
    await endHidden(directory);
  });

  test.for([
    [
      "kills what watches over it",
      // Only processes of its own group: its parent may have ended, and the one that it has then is that of many others.
      // `$(( ))` takes away the spaces that `ps` puts before a short id.
      "trap '' TERM; for other in $(ps -eo pid=,pgid= | awk -v group=$(($(ps -o pgid= $$))) -v self=$$ '$2 == group && $1 != self { print $1 }'); do kill -KILL $other; done 2>/dev/null; while :; do sleep 1; done",
      "exited",
    ],
    ["closes its outputs and goes on", "exec >&- 2>&-; sleep 300", "timedOut"],
    ["prints without end", "yes", "timedOut"],
    ["stops itself", "kill -STOP $$", "timedOut"],
    ["reads its input", "cat; exit 3", "exited"],
    ["kills its whole group", "kill -KILL 0", "exited"],
  ] as const)("not a command that %s", async ([, command, end], { directory }) => {
    const ended = await runIn(directory)(command, 1_500);
    expect(ended.end).toBe(end);
    expect(ended.output.length).toBeLessThanOrEqual(OUTPUT_CHARS);
  });
});
