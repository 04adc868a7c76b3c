import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { FIGURES_FILE } from "../figures.ts";
import { type Outcome, outcomeOf } from "./outcome.ts";

/** Characters of the standard error that are kept to say why a bench has failed. */
const KEPT = 4_000;

/**
 * Runs a bench as a process of its own and waits for its end. What it writes to its standard error is passed on.
 * @param script its program
 * @throws what `signal` was aborted with, once the process has been ended
 */
export const runBench = async (name: string, script: URL, signal: AbortSignal): Promise<Outcome> => {
  const folder = mkdtempSync(join(tmpdir(), "taskchart-figures-"));
  const file = join(folder, "figures.json");
  try {
    const child = spawn(process.execPath, [fileURLToPath(script)], {
      env: { ...process.env, [FIGURES_FILE]: file },
      stdio: ["ignore", "ignore", "pipe"],
    });
    const end = () => child.kill();
    signal.addEventListener("abort", end);
    let stderr = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      process.stderr.write(text);
      stderr = (stderr + text).slice(-KEPT);
    });
    const [code, endedBy] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
    signal.removeEventListener("abort", end);
    signal.throwIfAborted();
    const handedOver = existsSync(file) ? readFileSync(file, "utf8") : undefined;
    return outcomeOf(name, { code, signal: endedBy, handedOver, stderr });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};
