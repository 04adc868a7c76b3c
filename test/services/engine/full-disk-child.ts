/**
 * `full-disk-child.ts <disk> <begun> <amounts>`: plays the same story on a disk that has room for so many more bytes, or files,
 * once for each of the amounts (as JSON), and prints a line for each: what came of it. A task is at work and the disk has no
 * room; that task ends, and so does one that is launched meanwhile; there is room again; OpenCode is killed, and starts again.
 */
import { cpSync, mkdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openStore } from "../../../src/services/store/open-store.ts";
import type { Store } from "../../../src/services/store/store.ts";
import { createStage, PARENT } from "../../fakes/stage.ts";
import { ownerOf } from "../store/owners.ts";
import type { Begun, Room, Told } from "./full-disk.ts";

const [disk = "", begun = "", amounts = "[]"] = process.argv.slice(2) as [string, Begun, string];
const filling = join(disk, "filling");

/** Leaves so much room on the disk. */
const leave = (room: Room) => {
  mkdirSync(filling);
  const { bavail, bsize, ffree } = statfsSync(disk);
  if ("bytes" in room) writeFileSync(join(filling, "bytes"), Buffer.alloc(Math.max(0, bavail * bsize - room.bytes)));
  else for (let file = room.files; file < ffree; file += 1) writeFileSync(join(filling, String(file)), "");
};

const play = async (room: Room): Promise<Told> => {
  const said: string[] = [];
  const log = {
    info: (message: string) => void said.push(message),
    error: (message: string, more?: Record<string, unknown>) => void said.push(`${message} ${more?.advice ?? ""}`),
  };
  const folderOf = (life: number) => join(disk, `life-${life}`);
  const stores: Store[] = [];
  const stage = createStage({
    openStore: (clock) => {
      const life = stores.length + 1;
      const folder = folderOf(life);
      // As the next process finds what one that was killed has left; that one is in this process, and has it open.
      if (life > 1) cpSync(folderOf(life - 1), folder, { recursive: true });
      if (life === (begun === "nothing" ? 1 : 2)) leave(room);
      const store = openStore({ folder, owner: ownerOf(`life ${life}`, { pid: life, startedAt: life }), log, clock });
      stores.push(store);
      return store;
    },
  });
  const { host, clock } = stage;
  const first = await stage.launch({ description: "first", prompt: "x".repeat(20_000) });
  if (begun === "closed") stores[0]?.close();
  if (begun !== "nothing") {
    await stage.restart();
    await clock.advance(60_000);
  }
  const second = await stage.launch({ description: "second", prompt: "y".repeat(20_000) });
  for (const id of [first, second]) host.finish(id, `answer of ${id}`);
  await clock.advance(60_000);
  const noticesOf = (id: string) =>
    stage.notices(PARENT).filter((parts) => parts.some(({ text }) => text.includes(`answer of ${id}`))).length;
  const full = [first, second].map(noticesOf);
  rmSync(filling, { recursive: true });
  await clock.advance(10_000);
  await stage.restart();
  await clock.advance(60_000);
  const stored = [first, second].map((id) => stage.store.get(id)?.task.status ?? "missing");
  const told = { room, full, after: [first, second].map(noticesOf), stored, said };
  stage.engine.stop();
  for (const store of stores) store.close();
  for (let life = 1; life <= stores.length; life += 1) rmSync(folderOf(life), { recursive: true });
  return told;
};

for (const room of JSON.parse(amounts) as Room[]) process.stdout.write(`${JSON.stringify(await play(room))}\n`);
