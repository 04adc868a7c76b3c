// ADR-173 in docs/decisions.md
import { spawnSync } from "node:child_process";

/** A runtime with SQLite that this program can be run with. */
export interface SqliteRuntime {
  /** How a person calls it. */
  name: string;
  command: string;
  env: NodeJS.ProcessEnv;
}

/** Milliseconds that a runtime gets to say that it is one. */
const PROBE_TIMEOUT_MS = 20_000;

/** OpenCode is a Bun program, and is Bun itself where the environment says so. */
const CANDIDATES: readonly SqliteRuntime[] = [
  { name: "bun", command: "bun", env: {} },
  { name: "the Bun in opencode", command: "opencode", env: { BUN_BE_BUN: "1" } },
];

const PROBE = 'process.stdout.write("bun " + process.versions.bun)';

const isBun = ({ command, env }: SqliteRuntime): boolean => {
  const probe = spawnSync(command, ["-e", PROBE], {
    env: { ...process.env, ...env },
    timeout: PROBE_TIMEOUT_MS,
    stdio: ["ignore", "pipe", "ignore"],
  });
  return /^bun \d/.test(String(probe.stdout));
};

/** Returns a runtime of this machine that has SQLite, which Node before 22.5 has not; undefined where there is none. */
export const sqliteRuntime = (): SqliteRuntime | undefined => CANDIDATES.find(isBun);

/** Runs this program with another runtime, in place of this one. Returns its exit code. */
export const runWith = ({ command, env }: SqliteRuntime, args: readonly string[]): number => {
  const script = process.argv[1] ?? "";
  const { status } = spawnSync(command, [script, ...args], { env: { ...process.env, ...env }, stdio: "inherit" });
  return status ?? 1;
};
