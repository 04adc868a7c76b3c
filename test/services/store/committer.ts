/**
 * `committer.ts <folder> <id> <tasks>`: a process that takes a step at each line on its standard input, and prints when it
 * is done: stores the lives of that many tasks; launches one more; waits until it is killed.
 */
import { createInterface } from "node:readline";
import { openStore } from "../../../src/services/store/open-store.ts";
import { LEASE_MS, thisProcess } from "../../../src/services/store/ownership.ts";
import { scriptTask } from "./scripted-task.ts";

const [folder = "", id = "", tasks = "0"] = process.argv.slice(2);
const say = (line: string) => process.stdout.write(`${line}\n`);
// While other processes write all the time, a change may have to wait. That is logged, and not an error here.
const log = { info: () => undefined, error: () => undefined };
const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

const store = openStore({ folder, owner: thisProcess(id, "/project", LEASE_MS), log });
say("open");
await input.next();
for (let index = 0; index < Number(tasks); index += 1) {
  const story = scriptTask(`ses_${id}_${index}`, { after: index });
  for (const chapter of [story.launch(), story.answer(), story.deliver()]) {
    if (store.commit(chapter).length > 0) say(`lost: ${story.id}`);
  }
}
say("stored");
await input.next();
say(`lost: ${store.heartbeat(Date.now()).length}`);
store.commit(scriptTask(`ses_${id}_live`).launch());
say("launched");
await input.next();
