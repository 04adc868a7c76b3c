import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../fakes/repository.ts";
import { onSmallDisk, whyNoSmallDisk } from "../../fakes/small-disk.ts";
import { isNightly } from "../../nightly.ts";
import { plays } from "./git-plays.ts";

const CHILD = fileURLToPath(new URL("failing-disk-child.ts", import.meta.url));

/** Bytes that the disk has left: fewer than any of the plays takes, and more. */
const ROOMS = isNightly ? Array.from({ length: 60 }, (_, index) => index * 4_096) : [0, 40_960];

/** Those that lost something on a full disk, or what it says about what is kept; all with `NIGHTLY=1`. */
const PLAYS = isNightly
  ? Object.keys(plays)
  : ["a worktree is made for a launch", "a worktree goes that was kept for long enough"];

/** What a play on such a disk came to: why nothing was done, and what does not hold. */
interface Line {
  room: number | "read-only";
  reason?: string;
  problem?: string;
}

const played = (name: string, rooms: Line["room"][]): Line[] => {
  const disk = join(temporaryFolder(), "disk");
  mkdirSync(disk);
  const size = { megabytes: 8 };
  const [program = "", ...args] = onSmallDisk(disk, size, [process.execPath, CHILD, disk, name, JSON.stringify(rooms)]);
  const lines = execFileSync(program, args, { encoding: "utf8" }).trim().split("\n");
  return lines.map((line) => JSON.parse(line));
};

test.for(PLAYS)(
  "where %s on a disk that is full, nothing is lost, and it is done once there is room",
  {
    timeout: 3_600_000,
  },
  (name, { skip }) => {
    skip(whyNoSmallDisk !== undefined, whyNoSmallDisk);
    const lines = played(name, ROOMS);
    expect(lines.filter(({ problem }) => problem !== undefined)).toEqual([]);
    expect(lines).toHaveLength(ROOMS.length);
  },
);

test.for(isNightly ? Object.keys(plays) : ["changes are applied"])(
  "where %s on a disk that has become read-only, nothing is lost, and it is done once that is over",
  { timeout: 600_000 },
  (name, { skip }) => {
    skip(whyNoSmallDisk !== undefined, whyNoSmallDisk);
    const [line] = played(name, ["read-only"]);
    expect(line?.problem).toBeUndefined();
    // Node takes it for a folder that is missing where it is to make one.
    expect(line?.reason).toMatch(/read-only file system|no such file or directory, mkdir/i);
    if (name === "changes are applied") expect(line?.reason).toMatch(/^NotDone: The changes of task .* now: EROFS/);
  },
);
