import { expect, test } from "vitest";
import { type Lab, startLab } from "./lab/lab.ts";
import { calls, text } from "./lab/reply.ts";
import { setUp } from "./lab/set-up.ts";
import { launching } from "./tasks-and-notices.ts";

/** Launches in one message of a process that has just started. `MANY=20` takes less time, and prints how long they took. */
const MANY = Number(process.env.MANY ?? 300);

const repository = new URL("../..", import.meta.url).href;

let lab: Lab;

setUp(async () => {
  lab = await startLab({ plugin: [repository, { budget: { tasksPerParent: 2 * MANY } }] });
  return () => lab.stop();
});

test(`${MANY} launches in one turn are as many tasks as sessions, and none is refused`, {
  timeout: 600_000,
}, async () => {
  const parent = await lab.session();
  const prompts = Array.from({ length: MANY }, (_, n) => `work on part ${n}`);
  lab.model.when((request) => request.parentSessionID !== undefined, text("done"));
  lab.model.when("launch them all", [calls(prompts.map((prompt) => launching(prompt))), text("launched")]);
  const began = performance.now();
  await lab.prompt(parent, "launch them all");
  const launches = await lab.until(
    async () => {
      const made = (await lab.messages(parent)).flatMap(({ parts }) =>
        parts.flatMap((part) => (part.type === "tool" && "time" in part.state ? part.state : [])),
      );
      return made.length === MANY && made.every(({ status }) => status !== "running") && made;
    },
    { what: "all launches are answered", timeoutMs: 580_000 },
  );
  if (process.env.MANY) {
    const longest = Math.max(...launches.map(({ time }) => ("end" in time ? time.end - time.start : 0)));
    console.log(`${MANY} launches: ${Math.round(performance.now() - began)} ms in all, the longest ${longest} ms`);
  }
  expect(launches.filter(({ status }) => status === "error")).toEqual([]);
  const tasks = launches.flatMap((state) => ("metadata" in state ? String(state.metadata?.sessionId) : []));
  const { data: children = [] } = await lab.client.session.children({ sessionID: parent });
  expect(children.map(({ id }) => id).sort()).toEqual(tasks.sort());
});
