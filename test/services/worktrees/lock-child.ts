import { appendFileSync } from "node:fs";
import { lock } from "../../../src/services/worktrees/lock.ts";

/** Takes and gives back a lock again and again, and writes down when. With `diesHolding`, it is killed in one of those rounds. */
const { folder, log, rounds, diesHolding } = JSON.parse(process.argv[2] ?? "");
for (let round = 0; round < rounds; ) {
  const release = lock({ folder }, Date.now());
  if (!release) continue;
  appendFileSync(log, `+${process.pid}\n`);
  if (diesHolding === round) process.kill(process.pid, "SIGKILL");
  appendFileSync(log, `-${process.pid}\n`);
  release();
  round += 1;
}
