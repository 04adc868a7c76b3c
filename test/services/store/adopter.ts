/**
 * `adopter.ts <folder> <id>`: a process that prints the machine on which it believes to run. Each line on its standard
 * input is a number of milliseconds by which its clock advances: it then sends a heartbeat, takes over what it can, and
 * prints which tasks it took.
 */
import { createInterface } from "node:readline";
import { systemClock } from "../../../src/services/platform/clock.ts";
import { openStore } from "../../../src/services/store/open-store.ts";
import { LEASE_MS, thisProcess } from "../../../src/services/store/ownership.ts";

const [folder = "", id = ""] = process.argv.slice(2);
const say = (line: string) => process.stdout.write(`${line}\n`);
const log = { info: () => undefined, error: say };
const owner = thisProcess(id, "/project", LEASE_MS);
let ahead = 0;
const clock = { ...systemClock, now: () => Date.now() + ahead };

const store = openStore({ folder, owner, log, clock });
say(owner.machine);
for await (const line of createInterface({ input: process.stdin })) {
  ahead += Number(line);
  store.heartbeat(clock.now());
  const { tasks } = store.adopt(clock.now(), () => true);
  say(`took: ${tasks.map(({ task }) => task.sessionID).join(" ")}`);
}
