import fc from "fast-check";
import { expect, test } from "vitest";
import type { TaskEvent } from "../../../src/machines/task/events.ts";
import { replay } from "../../../src/machines/task/replay.ts";
import type { Concurrency } from "../../../src/machines/task/slot-queue.ts";
import { type RecordedRun, recordedIn, simulateQueue } from "../../../src/services/replay/queue-simulation.ts";
import { type JournaledTask, whatIf } from "../../../src/services/replay/what-if.ts";
import { noProgress, type TaskFacts } from "../../../src/task.ts";
import { START, taskInput } from "../../fakes/task-input.ts";

const SECOND = 1_000;
const NO_LIMITS: Concurrency = { default: Number.POSITIVE_INFINITY, providers: {}, models: {}, agents: {} };
const atMost = (limit: number): Concurrency => ({ ...NO_LIMITS, default: limit });

type Script = (at: (seconds: number) => number) => TaskEvent[];

const begun =
  (from: number, granted = from): Script =>
  (at) => [
    { type: "SLOT_GRANTED", at: at(granted) },
    { type: "PROMPT_ACCEPTED", at: at(granted) },
  ];

const answered =
  (to: number, checkId = 1): Script =>
  (at) => [
    { type: "HOST_IDLE", at: at(to) },
    { type: "CHECKED_ANSWERED", at: at(to), checkId, completedAt: at(to), result: "ok" },
  ];

/** A task as it is stored, launched after so many seconds. */
const stored = (
  id: string,
  from: number,
  scripts: Script[],
  facts: Partial<TaskFacts> = {},
  progress: Partial<JournaledTask["progress"]> = {},
): JournaledTask => {
  const at = (seconds: number) => START + seconds * SECOND;
  const origin = taskInput(id, { description: id, ...facts }, at(from));
  const events = scripts.flatMap((script) => script(at));
  const { steps, snapshot } = replay(origin, events);
  expect(steps.flatMap(({ refused }) => refused ?? [])).toEqual([]);
  return {
    journal: { taskId: id, origin, events, snapshot },
    progress: { ...noProgress(origin.facts.startedAt), ...progress },
  };
};

/** A task that was at work from one second to another. */
const worked = (id: string, from: number, to: number, facts: Partial<TaskFacts> = {}, progress = {}): JournaledTask =>
  stored(id, from, [begun(from), answered(to)], facts, progress);

const waits = (tasks: JournaledTask[], slots: Concurrency) =>
  whatIf(tasks, { slots }, 0).queue?.queued.map(({ facts, waited }) => [facts.sessionID, waited / SECOND]);

test("the journal tells when a run wanted a slot, held it and needed none", () => {
  const request = { id: "per_1", kind: "permission", what: "?", since: 0 } as const;
  const task = stored("ses_a", 0, [
    begun(0, 5),
    (at) => [
      { type: "REQUEST_ASKED", at: at(8), request },
      { type: "REQUEST_ANSWERED", at: at(60), id: "per_1" },
    ],
    answered(62),
    (at) => [
      { type: "NOTICE_COMPOSED", at: at(63) },
      { type: "NOTICE_ACKNOWLEDGED", at: at(63) },
      { type: "RESUME", at: at(70), messageID: "msg_2", partID: "prt_2", prompt: "more" },
    ],
    begun(70),
    answered(71, 2),
  ]);
  const runs = recordedIn(task.journal)?.runs ?? [];
  const stretches = runs.map((run) =>
    run.stretches.map(({ from, to, holdsSlot }) => [(from - START) / SECOND, (to - START) / SECOND, holdsSlot]),
  );
  expect(stretches).toEqual([
    [
      [5, 8, true],
      [8, 60, false],
      [60, 62, true],
    ],
    [[70, 71, true]],
  ]);
  expect(runs.map(({ outcome, wantedAt }) => [outcome, (wantedAt - START) / SECOND])).toEqual([
    ["completed", 0],
    ["completed", 70],
  ]);
});

test("the time for which a run waited for another model's slot is none of its work", () => {
  const models = [{ providerID: "fake", modelID: "m2" }];
  const refusal = { name: "APIError", kind: "provider", message: "no credit", refusal: "quota" } as const;
  const task = stored(
    "ses_a",
    0,
    [
      begun(0, 5),
      (at) => [
        { type: "HOST_IDLE", at: at(8) },
        { type: "CHECKED_FAILED", at: at(8), checkId: 1, completedAt: at(8), error: refusal },
        { type: "MODEL_CHANGED", at: at(8), model: models[0] ?? { providerID: "", modelID: "" } },
        { type: "TICK", at: at(9) },
      ],
      begun(9, 30),
      answered(40, 2),
    ],
    { fallback: { models, after: 60_000 } },
  );
  const [run] = recordedIn(task.journal)?.runs ?? [];
  expect(run?.stretches.map(({ from, to }) => [(from - START) / SECOND, (to - START) / SECOND])).toEqual([
    [5, 9],
    [30, 40],
  ]);
  expect(run?.outcome).toBe("completed");
});

test("runs beyond the limit wait for those before them, and the last ends later", () => {
  const tasks = [worked("a", 0, 10), worked("b", 1, 11), worked("c", 2, 12)];
  const result = whatIf(tasks, { slots: atMost(1) }, 0);
  expect(result).toMatchObject({ tasks: 3, runs: 3, mostAtWork: 3 });
  expect(result.queue).toMatchObject({ mostAtWork: 1, later: 18 * SECOND });
  expect(waits(tasks, atMost(1))).toEqual([
    ["c", 18],
    ["b", 9],
  ]);
  expect(waits(tasks, atMost(3))).toEqual([]);
});

test("of those that wait, the one with the highest priority starts first, then the oldest", () => {
  const tasks = [worked("a", 0, 10), worked("b", 1, 5), worked("c", 2, 4, { priority: 1 })];
  expect(waits(tasks, atMost(1))).toEqual([
    ["b", 11],
    ["c", 8],
  ]);
});

test("a limit of a provider, a model or an agent holds up only what it names", () => {
  const of = (modelID: string) => ({ model: { providerID: "acme", modelID } });
  const tasks = [
    worked("a", 0, 10, of("big")),
    worked("b", 1, 2, of("small")),
    worked("c", 2, 3, { agent: "explore" }),
  ];
  expect(waits(tasks, { ...NO_LIMITS, providers: { acme: 1 } })).toEqual([["b", 9]]);
  expect(waits(tasks, { ...NO_LIMITS, models: { "acme/small": 1 } })).toEqual([]);
  expect(waits([...tasks, worked("d", 2, 3, { agent: "explore" })], { ...NO_LIMITS, agents: { explore: 1 } })).toEqual([
    ["d", 1],
  ]);
});

test("a task that waits for a person frees its slot", () => {
  const request = { id: "per_1", kind: "permission", what: "?", since: 0 } as const;
  const asking = stored("a", 0, [
    begun(0),
    (at) => [
      { type: "REQUEST_ASKED", at: at(2), request },
      { type: "REQUEST_ANSWERED", at: at(50), id: "per_1" },
    ],
    answered(60),
  ]);
  expect(waits([asking, worked("b", 1, 9)], atMost(1))).toEqual([["b", 1]]);
});

test("what a task has used with its own tasks decides whether its budget would have stopped it", () => {
  const tasks = [
    worked("parent", 0, 20, {}, { cost: 0.4, tokens: 1_000 }),
    worked("child", 1, 10, { parentTaskId: "parent" }, { cost: 0.8, tokens: 3_000 }),
    worked("cheap", 2, 3, {}, { cost: 0.1 }),
  ];
  const { stopped = [] } = whatIf(tasks, { budget: { cost: 1 } }, 0);
  expect(stopped.map(({ facts, limit, used }) => [facts.sessionID, limit, used.tokens])).toEqual([
    ["parent", "cost", 4_000],
  ]);
  expect(stopped[0]?.saved.cost).toBeCloseTo(0.2);
  const lower = whatIf(tasks, { budget: { cost: 0.5 } }, 0).stopped ?? [];
  expect(lower.map(({ facts }) => facts.sessionID)).toEqual(["parent"]);
  const own = whatIf(tasks, { budget: { toolCalls: 1 } }, 0).stopped;
  expect(own).toEqual([]);
});

test("a silence after which the child was heard of again was called stale wrongly; a longer limit would not have", () => {
  const silent = stored("a", 0, [
    begun(0),
    (at) => [
      { type: "BECAME_STALE", at: at(600) },
      { type: "ACTIVITY_SEEN", at: at(900) },
    ],
    answered(1_000),
  ]);
  const silencesWith = (stale: number) => whatIf([silent], { stale: stale * SECOND }, 600 * SECOND).silences;
  expect(silencesWith(600)).toMatchObject([{ wasAlive: true }]);
  expect(silencesWith(900)).toHaveLength(1);
  expect(silencesWith(901)).toEqual([]);
});

test("a journal that does not start at the launch is counted, and left out", () => {
  const { journal, progress } = worked("a", 0, 1);
  const result = whatIf([{ journal: { ...journal, origin: null }, progress }], { slots: atMost(1) }, 0);
  expect(result).toMatchObject({ tasks: 0, unreadable: 1, runs: 0, queue: { queued: [], later: 0 } });
});

/** Runs that overlap, some of which launch others while they work, and then wait for them. */
const paused =
  (from: number, to: number, granted = to): Script =>
  (at) => [
    { type: "PAUSE", at: at(from), by: "person" },
    { type: "CONTINUE", at: at(to) },
    { type: "SLOT_GRANTED", at: at(granted) },
  ];

test("the time in which a queued task was paused is no wait, and its place in the queue is that of its launch", () => {
  const tasks = [
    worked("ses_first", 0, 20),
    stored("ses_paused", 1, [paused(2, 12, 20), (at) => [{ type: "PROMPT_ACCEPTED", at: at(20) }], answered(25)]),
    stored("ses_later", 3, [begun(3, 25), answered(30)]),
  ];
  expect(waits(tasks, atMost(1))).toEqual([
    ["ses_later", 22],
    ["ses_paused", 8],
  ]);
});

test("a task that was paused at work holds no slot meanwhile, and waits for one when it continues", () => {
  const goesOn: Script = (at) => [{ type: "CHECKED_BUSY", at: at(30), checkId: 2 }];
  const stopped: Script = (at) => [
    { type: "PAUSE", at: at(5), by: "person" },
    { type: "STOPPED", at: at(5) },
    { type: "CHECKED_ABORTED", at: at(5), checkId: 1, completedAt: at(5) },
    { type: "CONTINUE", at: at(30) },
    { type: "SLOT_GRANTED", at: at(30) },
  ];
  const tasks = [stored("ses_paused", 0, [begun(0), stopped, goesOn, answered(40, 3)]), worked("ses_long", 6, 50)];
  const { runs } = simulateQueue(
    tasks.flatMap(({ journal }) => recordedIn(journal)?.runs ?? []),
    atMost(1),
  );
  expect(
    runs.map(({ recorded: { facts }, startedAt, endedAt }) => [
      facts.sessionID,
      ...[startedAt, endedAt].map((at) => (at - START) / SECOND),
    ]),
  ).toEqual([
    ["ses_paused", 0, 60],
    ["ses_long", 6, 50],
  ]);
});

const anyRuns = fc
  .array(
    fc.record({
      from: fc.integer({ min: 0, max: 50 }),
      work: fc.integer({ min: 2, max: 30 }),
      children: fc.array(fc.record({ after: fc.integer({ min: 1, max: 2 }), work: fc.integer({ min: 1, max: 20 }) }), {
        maxLength: 3,
      }),
      priority: fc.integer({ min: 0, max: 2 }),
    }),
    { minLength: 1, maxLength: 12 },
  )
  .map((parents) =>
    parents.flatMap(({ from, work, children, priority }, index): RecordedRun[] => {
      const run = (
        id: string,
        stretches: [number, number, boolean][],
        facts: Partial<TaskFacts> = {},
      ): RecordedRun => ({
        facts: taskInput(id, { priority, ...facts }).facts,
        index: 0,
        ...{ begunAt: stretches[0]?.[0] ?? 0, wantedAt: stretches[0]?.[0] ?? 0 },
        stretches: stretches.map(([begin, end, holdsSlot]) => ({ from: begin, to: end, holdsSlot, isPaused: false })),
        outcome: "completed",
      });
      const id = `p${index}`;
      const own = children.map(({ after, work: takes }, number) =>
        run(`${id}c${number}`, [[from + after, from + after + takes, true]], { parentTaskId: id }),
      );
      const lastEnd = Math.max(from + work, ...own.map(({ stretches }) => stretches[0]?.to ?? 0)) + 1;
      const awaits: [number, number, boolean][] =
        own.length === 0
          ? []
          : [
              [from + 2, lastEnd, false],
              [lastEnd, lastEnd + 1, true],
            ];
      return [run(id, [[from, own.length === 0 ? from + work : from + 2, true], ...awaits]), ...own];
    }),
  );

test("without limits every run goes as it went", () => {
  fc.assert(
    fc.property(anyRuns, (runs) => {
      const simulated = simulateQueue(runs, NO_LIMITS).runs;
      expect(simulated).toHaveLength(runs.length);
      for (const { recorded, startedAt, endedAt } of simulated) {
        expect([startedAt, endedAt]).toEqual([recorded.wantedAt, recorded.stretches.at(-1)?.to]);
      }
    }),
  );
});

test("with any limit every run ends, and none starts at the limit: parents that wait hold no slot", () => {
  fc.assert(
    fc.property(anyRuns, fc.integer({ min: 1, max: 4 }), (runs, limit) => {
      const { runs: simulated } = simulateQueue(runs, atMost(limit));
      expect(simulated).toHaveLength(runs.length);
      const length = ({ stretches }: RecordedRun) => (stretches.at(-1)?.to ?? 0) - (stretches[0]?.from ?? 0);
      for (const run of simulated) {
        expect(run.startedAt).toBeGreaterThanOrEqual(run.wantedAt);
        expect(run.endedAt - run.startedAt).toBeGreaterThanOrEqual(length(run.recorded));
      }
      const childless = runs.every(({ facts }) => facts.parentTaskId === undefined);
      if (childless) expect(simulateQueue(runs, atMost(limit)).mostAtWork).toBeLessThanOrEqual(limit);
    }),
  );
});
