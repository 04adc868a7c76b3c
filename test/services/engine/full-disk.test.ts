import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { onSmallDisk, whyNoSmallDisk } from "../../fakes/small-disk.ts";
import { isNightly } from "../../nightly.ts";
import { temporaryFolder } from "../store/folder-and-log.ts";
import type { Begun, Room, Told } from "./full-disk.ts";

const CHILD = fileURLToPath(new URL("full-disk-child.ts", import.meta.url));

/** Bytes that the whole story takes: with more, the disk is never full. */
const WHOLE = 800_000;

/** Bytes between two amounts of room: a disk gives out 4,096 at once. */
const STEP = isNightly ? 4_096 : 196_608;

const ROOMS: Room[] = [
  ...Array.from({ length: Math.ceil(WHOLE / STEP) }, (_, index) => ({ bytes: index * STEP })),
  ...[0, 1, 2, 3].map((files) => ({ files })),
];

const FULL =
  "The task database cannot be used for now. Tasks go on in memory, and are written once it can. Make room on the disk.";
const OVER = "The task database can be used again, and has everything.";

const played = (begun: Begun): Told[] => {
  const disk = join(temporaryFolder(), "disk");
  mkdirSync(disk);
  const size = { megabytes: 4, files: 200 };
  const [program = "", ...args] = onSmallDisk(disk, size, [
    process.execPath,
    CHILD,
    disk,
    begun,
    JSON.stringify(ROOMS),
  ]);
  const lines = execFileSync(program, args, { encoding: "utf8" }).trim().split("\n");
  return lines.map((line) => JSON.parse(line));
};

const SITUATIONS = {
  "there is no database yet": "nothing",
  "OpenCode was closed before": "closed",
  "OpenCode was killed before": "killed",
} as const;

for (const [situation, begun] of Object.entries(SITUATIONS)) {
  test(`however early a disk is full, where ${situation}, each end is delivered once, and everything is written in the end`, ({
    skip,
  }) => {
    skip(whyNoSmallDisk !== undefined, whyNoSmallDisk);
    const all = played(begun);
    expect(all).toHaveLength(ROOMS.length);
    for (const { room, full, after, stored, said } of all) {
      const told = `with room for ${JSON.stringify(room)}`;
      // What a process before this one has begun, nobody knows while the file cannot be opened.
      expect(full, told).toEqual([begun === "nothing" ? 1 : expect.toBeOneOf([0, 1]), 1]);
      expect(after, told).toEqual([1, 1]);
      expect(stored, told).toEqual(["completed", "completed"]);
      const outage = said.filter((line) => !line.startsWith("Other users of this machine"));
      // What little room there is may do for one change, and not for the next.
      expect(outage, told).toEqual(outage.map((_, index) => (index % 2 === 0 ? FULL : OVER)));
      expect(outage.length % 2, told).toBe(0);
    }
    // The smallest and the largest amount show that the disk was full, and that it was not.
    expect(all[0]?.said.join()).toContain(FULL);
  }, 600_000);
}
