import { appendFileSync, existsSync } from "node:fs";
import { lock } from "../../../src/services/worktrees/lock.ts";

/**
 * Takes and gives back a lock again and again once `start` is there, and writes down when. With `diesHolding`, it is killed in
 * one of those rounds.
 */
const { folder, log, start, rounds, diesHolding } = JSON.parse(process.argv[2] ?? "");
process.stdout.write("ready");
while (!existsSync(start)) {
  // All begin at the same moment.
}
for (let round = 0; round < rounds; ) {
  const release = lock({ folder }, Date.now());
  if (!release) continue;
  appendFileSync(log, `+${process.pid}\n`);
  if (diesHolding === round) process.kill(process.pid, "SIGKILL");
  appendFileSync(log, `-${process.pid}\n`);
  release();
  round += 1;
}
