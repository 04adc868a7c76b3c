import { describe, expect, test } from "vitest";
import type { Wake } from "../../src/task.ts";
import { createStage, type Stage } from "../fakes/stage.ts";
import { settled } from "../fakes/virtual-clock.ts";
import { isNightly } from "../nightly.ts";

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
/** Every fate of two tasks, after which the third one completes. */
const someFates = pairs.map((two): Fate[] => [...two, "completes"]);
const plays: Play[] = [
  ...pairs.flatMap((two) =>
    FATES.map((third): Play => ({ fates: [...two, third], policies: ALL, crashAfter: undefined })),
  ),
  ...[0, 1, 2].flatMap((loud) =>
    someFates.map((fates): Play => ({ fates, policies: ALL.with(loud, "each"), crashAfter: undefined })),
  ),
  ...[0, 1, 2].flatMap((crashAfter) => someFates.map((fates): Play => ({ fates, policies: ALL, crashAfter }))),
];

/** Without `NIGHTLY=1` every fourth is played: still each fate of each task, with each policy and each death. */
const played = plays.filter((_, index) => isNightly || index % 4 === 0);

describe("the notices of three tasks are what the policy says, whatever becomes of them in turn", () => {
  const nameOf = ({ fates, policies, crashAfter }: Play): string =>
    `${fates.map((fate, task) => `${fate} (${policies[task]})`).join(", ")}${crashAfter === undefined ? "" : `, killed after ${crashAfter} of them`}`;
  test.each(played.map((one) => [nameOf(one), one] as const))("%s", (_, one) => play(one));
});
