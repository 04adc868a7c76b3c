import { PATIENCE_MS } from "../../patience.ts";
import { type OpenCodeOptions, prepareHome } from "./home.ts";
import { spawnOpenCode } from "./opencode-process.ts";

/** How one `opencode run` ended. */
export type RunResult = {
  /** The exit code, or null when a signal ended it. */
  code: number | null;
  stdout: string;
  stderr: string;
  /** The lines of `--format json`, parsed; those of the root session only. */
  events: RunEvent[];
  /** Whether it was killed because it took longer than `timeoutMs`. */
  timedOut: boolean;
};

/** A line of `opencode run --format json`. */
type RunEvent = {
  type: string;
  sessionID: string;
  timestamp: number;
  part?: { type: string; text?: string; tool?: string; state?: { status: string; output?: string } };
  error?: unknown;
};

export type RunOptions = OpenCodeOptions & {
  message: string;
  /** More arguments, e.g. `["--agent", "plan"]`. */
  args?: string[];
  /** Milliseconds until it is killed. Default: `PATIENCE_MS`. */
  timeoutMs?: number;
};

/** Runs `opencode run --format json` to its end, standard input closed. A code other than 0 is no error here. */
export async function runOpenCode(options: RunOptions): Promise<RunResult> {
  const home = await prepareHome(options);
  const run = spawnOpenCode(["run", "--format", "json", ...(options.args ?? []), options.message], home);
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    run.child.kill("SIGKILL");
  }, options.timeoutMs ?? PATIENCE_MS);
  const code = await run.exited;
  clearTimeout(timer);
  await home.remove();
  return { code, stdout: run.stdout(), stderr: run.stderr(), events: parseEvents(run.stdout()), timedOut };
}

function parseEvents(stdout: string): RunEvent[] {
  return stdout
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line): RunEvent => JSON.parse(line));
}
