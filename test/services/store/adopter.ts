/**
 * `adopter.ts <folder> <id>`: a process that says on its standard output on which machine it takes itself to be. With
 * each line on its standard input, a number, its clock goes on by so many milliseconds: it shows that it lives, takes over
 * what it may, and says which tasks it took.
 */
import { createInterface } from "node:readline";
import { systemClock } from "../../../src/services/platform/clock.ts";
import { openStore } from "../../../src/services/store/open-store.ts";
import { thisProcess } from "../../../src/services/store/ownership.ts";

const [folder = "", id = ""] = process.argv.slice(2);
const say = (line: string) => process.stdout.write(`${line}\n`);
const log = { info: () => undefined, error: say };
const owner = thisProcess(id, "/project");
let ahead = 0;
const clock = { ...systemClock, now: () => Date.now() + ahead };

const store = await openStore({ folder, owner, log, clock });
say(owner.machine);
for await (const line of createInterface({ input: process.stdin })) {
  ahead += Number(line);
  store.heartbeat(clock.now());
  const { tasks } = store.adopt(clock.now(), () => true);
  say(`took: ${tasks.map(({ task }) => task.sessionID).join(" ")}`);
}
