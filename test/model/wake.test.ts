import { describe, expect, test } from "vitest";
import type { Wake } from "../../src/task.ts";
import { createStage, type Stage } from "../fakes/stage.ts";
import { settled } from "../fakes/virtual-clock.ts";

/** What becomes of a task that is at work. `isRead`: it completes while a tool call waits for it. */
const FATES = ["completes", "fails", "isCancelled", "isCleared", "isRead"] as const;
type Fate = (typeof FATES)[number];

/** What becomes of the tasks of one batch, one after the other; their policies; and after how many OpenCode is killed. */
interface Play {
  fates: Fate[];
  policies: Wake[];
  crashAfter: number | undefined;
}

/** The batch as the words of the policy say it, without a chart: who is at work, what is owed, what each notice delivered. */
interface Batch {
  atWork: Set<number>;
  owed: number[];
  delivered: number[][];
}

const expectFate = ({ atWork, owed, delivered }: Batch, task: number, fate: Fate, policy: Wake) => {
  atWork.delete(task);
  const isOwed = fate !== "isCleared" && fate !== "isRead";
  if (isOwed) owed.push(task);
  const wakes = atWork.size === 0 || (isOwed && (policy === "each" || fate === "fails"));
  if (wakes && owed.length > 0) delivered.push(owed.splice(0));
};

/** Brings it about in the engine. */
const acts: { [Name in Fate]: (stage: Stage, id: string) => unknown } = {
  completes: ({ host }, id) => host.finish(id, "12"),
  fails: ({ host }, id) => host.fail(id, { name: "APIError", message: "401" }),
  isCancelled: (stage, id) => stage.call("cancel", { task_id: id }),
  isCleared: (stage, id) => stage.call("clear", { task_id: id }),
  isRead: async (stage, id) => {
    const read = stage.call("output", { task_id: id, block: true });
    await settled();
    stage.host.finish(id, "12");
    await read;
  },
};

const deliveredIn = (stage: Stage, ids: string[]): number[][] =>
  stage
    .notices()
    .map((parts) =>
      [...(parts.at(-1)?.text ?? "").matchAll(/^Task (\S+) (?:completed|failed|was)/gm)].map(([, id = ""]) =>
        ids.indexOf(id),
      ),
    );

const play = async ({ fates, policies, crashAfter }: Play) => {
  const stage = createStage();
  const ids: string[] = [];
  for (const wake of policies) ids.push(await stage.launch({ wake }));
  const batch: Batch = { atWork: new Set(ids.keys()), owed: [], delivered: [] };
  const crashIfDue = async (done: number) => {
    if (done !== crashAfter) return;
    await stage.restart();
    await stage.clock.advance(1_000);
  };
  await crashIfDue(0);
  for (const [task, fate] of fates.entries()) {
    await acts[fate](stage, ids[task] ?? "");
    await stage.clock.advance(1_000);
    expectFate(batch, task, fate, policies[task] ?? "each");
    expect(deliveredIn(stage, ids), `after task ${task + 1} ${fate}`).toEqual(batch.delivered);
    await crashIfDue(task + 1);
    expect(deliveredIn(stage, ids), "a crash delivers nothing").toEqual(batch.delivered);
  }
  expect(stage.store.adopt(stage.clock.now() + 60_000, () => true).tasks, "nothing is owed").toEqual([]);
  stage.engine.stop();
};

const ALL: Wake[] = ["all", "all", "all"];
const pairs = FATES.flatMap((first) => FATES.map((second): Fate[] => [first, second]));
/** Every fate of each of three tasks. */
const everyFate = pairs.flatMap((two) => FATES.map((third) => [...two, third]));
/** Every fate of two tasks, after which the third one completes. */
const someFates = pairs.map((two): Fate[] => [...two, "completes"]);

const playAll = (fates: Fate[][], policies: Wake[], crashAfter?: number) =>
  test.each(fates.map((given) => [given.join(", "), given] as const))("%s", (_, given) =>
    play({ fates: given, policies, crashAfter }),
  );

describe("the notices of three tasks are what the policy says, whatever becomes of them in turn", () => {
  describe("all of them wake together", () => playAll(everyFate, ALL));

  describe.each([0, 1, 2])("all wake together but task %i", (loud) =>
    playAll(
      someFates,
      ALL.map((wake, task) => (task === loud ? "each" : wake)),
    ),
  );

  describe.each([0, 1, 2])("all of them wake together, and OpenCode is killed after %i of them", (crashAfter) =>
    playAll(someFates, ALL, crashAfter),
  );
});
