import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runRandomSchedules, runSchedule } from "./chaos.ts";
import { stepsOfOne } from "./drawn-steps.ts";
import type { Schedule } from "./schedule.ts";
import type { Simulation } from "./simulation.ts";
import { fromAll } from "./swarm.ts";

const SEED = 8;

/** Schedules of single steps: a scene is not made shorter. */
const simple: fc.Arbitrary<Schedule> = fc.record({
  store: fc.constant("memory" as const),
  recovery: fc.constant("continue" as const),
  slots: fc.constant(10),
  steps: fc.array(fromAll(stepsOfOne), { minLength: 1, maxLength: 20, size: "max" }),
});

/** An invariant that a working system violates: no task may ever complete. */
const nothingCompletes = (world: Simulation) => {
  const done = world.tracks.all().find(({ status }) => status === "completed");
  if (done) world.fault(`${done.sessionID} is completed`);
};

const quiet: Schedule = {
  store: "memory",
  recovery: "continue",
  slots: 10,
  steps: [
    {
      ...{ do: "launch", parent: 0, turn: 0, from: "message" },
      ...{ wake: "each", priority: 0, agent: "general", model: undefined, waits: false, answer: "stored" },
    },
    { do: "garble", faults: [{ is: "lost" }] },
    { do: "answer", session: 0, idles: 1, unwritten: false, unseen: false },
    { do: "time", ms: 6_000 },
  ],
};

describe("a fault is reported", () => {
  const found = runRandomSchedules({ runs: 200, seed: SEED, from: simple, check: nothingCompletes });

  test("with how to repeat it", async () => {
    expect(await found).toMatch(/^ses_\d+ is completed$/m);
    expect(await found).toMatch(new RegExp(`npm run chaos -- --seed ${SEED} --path "[\\d:]+"`));
  });

  test("with the steps that lead to it, and no others", async () => {
    const steps = (await found)?.match(/^ {2}\d+\. .*$/gm);
    expect(steps?.length).toBeLessThanOrEqual(4);
    expect(steps?.[0]).toMatch(/^ {2}1\. launch parent=/);
  });

  test("with the sequence of what happened, ready to be drawn", async () => {
    const [, diagram = ""] = (await found)?.match(/```mermaid\n([\s\S]*)\n```/) ?? [];
    const [first, ...lines] = diagram.split("\n");
    expect(first).toBe("sequenceDiagram");
    const grammar = /^ {2}(participant \w+ as .+|note over \w+(,\w+)?: .+|\w+(->>|-->>|-\)|-x)\w+: [^;#]+)$/;
    expect(lines.filter((line) => !grammar.test(line))).toEqual([]);
    expect(diagram).toContain("participant ses_parent as parent ses_parent");
    expect(diagram).toContain("engine->>host: prompt ses_0001");
    expect(diagram).toContain("note over ses_0001: completed");
  });

  test("as the very same when its seed and path are played again", async () => {
    const [, path] = (await found)?.match(/--path "([\d:]+)"/) ?? [];
    expect(await runRandomSchedules({ runs: 1, seed: SEED, from: simple, path, check: nothingCompletes })).toBe(
      await found,
    );
  });
});

test("a schedule goes the same way each time, in memory and in a file", async () => {
  const diagrams = [];
  for (const store of ["memory", "memory", "file"] as const) {
    const { faults, diagram } = await runSchedule({ ...quiet, store });
    expect(faults).toEqual([]);
    diagrams.push(diagram());
  }
  expect(new Set(diagrams).size).toBe(1);
  expect(diagrams[0]).toContain("host-xengine: text in ses_0001 (lost)");
});

test("what happens to a call, or to an event, is drawn", async () => {
  const { diagram } = await runSchedule({
    ...quiet,
    steps: [{ do: "strike", call: "prompt", is: "unavailable", ms: 10, times: 1 }, ...quiet.steps],
  });
  expect(diagram()).toContain("host-xengine: prompt ses_0001 with msg_00000001 (unavailable)");
  expect(diagram()).toMatch(/engine->>host: prompt ses_parent with msg_\d+/);
});
