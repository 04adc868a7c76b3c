/**
 * `failing-disk-child.ts <disk> <play> <rooms>`: plays one of `git-plays.ts` on a disk of its own that has all of it: the
 * project, the worktrees and temporary files. Once for each of the rooms (as JSON), which is how many bytes the disk has left
 * while that is done, or "read-only". Prints a line for each: why it was not done, or nothing; or what does not hold.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { play, plays } from "./git-plays.ts";

const [disk = "", name = "", rooms = "[]"] = process.argv.slice(2);
const filling = join(disk, "filling");

const remount = (how: "ro" | "rw") => {
  const { status, stderr } = spawnSync("mount", ["-o", `remount,${how}`, disk], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
};

const fail = (room: number | "read-only") => {
  if (room === "read-only") return remount("ro");
  const { bavail, bsize } = statfsSync(disk);
  writeFileSync(filling, Buffer.alloc(Math.max(0, bavail * bsize - room)));
};

const mend = (room: number | "read-only") => (room === "read-only" ? remount("rw") : rmSync(filling));

const begin = plays[name];
if (!begin) throw new Error(`there is no play ${name}`);
for (const room of JSON.parse(rooms) as (number | "read-only")[]) {
  const folder = mkdtempSync(join(disk, "play-"));
  let reason: string | undefined;
  let problem: string | undefined;
  await play(begin, folder, async (act, temporary) => {
    process.env.TMPDIR = temporary;
    fail(room);
    reason = await act();
    mend(room);
    delete process.env.TMPDIR;
    return reason;
  }).catch((error) => {
    problem = error instanceof Error ? error.stack : String(error);
  });
  rmSync(folder, { recursive: true, force: true });
  process.stdout.write(`${JSON.stringify({ room, reason, problem })}\n`);
}
