/**
 * `keeper.ts <folder>`: a process that takes a step at each line on its standard input, and answers with a line of JSON: which
 * tasks it has, and what its log says since the line before. The steps: `beat`; `close`; or the id of a task, whose life is stored.
 */
import { createInterface } from "node:readline";
import { openStore } from "../../../src/services/store/open-store.ts";
import { LEASE_MS, thisProcess } from "../../../src/services/store/ownership.ts";
import { scriptTask } from "./scripted-task.ts";

const [folder = ""] = process.argv.slice(2);
let said: string[] = [];
const log = {
  info: (message: string) => void said.push(message),
  error: (message: string, more?: Record<string, unknown>) =>
    void said.push(`${message} ${more?.reason ?? ""} ${more?.advice ?? ""}`),
};
const store = openStore({ folder, owner: thisProcess("keeper", "/project", LEASE_MS), log });
const answer = () => {
  const tasks = store.list({}).map(({ sessionID }) => sessionID);
  process.stdout.write(`${JSON.stringify({ tasks, said })}\n`);
  said = [];
};
answer();
let after = 0;
for await (const step of createInterface({ input: process.stdin })) {
  if (step === "beat") store.heartbeat(Date.now());
  else if (step === "close") store.close();
  else {
    after += 1;
    const story = scriptTask(step, { after, prompt: "x".repeat(20_000) });
    for (const chapter of [story.launch(), story.answer(), story.deliver()]) store.commit(chapter);
  }
  answer();
}
