import fc from "fast-check";
import { expect, test } from "vitest";
import { type AnyTransitionDefinition, createActor } from "xstate";
import { enteredThrough, statePaths } from "../../../src/machines/chart.ts";
import { machines } from "../../../src/machines/chart-json.ts";
import { chartOf, withAllInside } from "../../../src/machines/plain-chart.ts";
import type { TaskEvent, TaskInput } from "../../../src/machines/task/events.ts";
import { taskMachine } from "../../../src/machines/task/machine.ts";
import { movesOf, wayOfTask } from "../../../src/machines/task/way.ts";
import { apartFrom, NO_WAY, wayOf } from "../../../src/machines/way.ts";
import { pureRuns } from "../../seed.ts";
import { type ScriptedTask, scriptTask } from "../../services/store/scripted-task.ts";
import { journalFrom, picks, READABLE } from "../journals.ts";

const wayNow = (task: ScriptedTask) => wayOfTask(task.record().snapshot, task.events());

test("a task at work has passed the queue and its prompt, and came there as that was accepted", () => {
  const task = scriptTask("ses_a");
  task.launch();
  expect(wayNow(task)).toEqual({
    passed: ["run.queued", "run.prompting.sending", "run.prompting"],
    arrivals: {
      "run.working.busy": "run.prompting.sending:PROMPT_ACCEPTED:2",
      "run.working": "run.prompting.sending:PROMPT_ACCEPTED:2",
    },
  });
});

test("a task that has ended has passed all of its run, and came to its outcome and its notice as that ended", () => {
  const task = scriptTask("ses_a");
  task.launch();
  task.answer();
  const { passed, arrivals } = wayNow(task);
  expect(passed).toEqual(expect.arrayContaining(["lifecycle.running", "run.working", "run.checking.asking.verifying"]));
  expect(passed).not.toContain("run.checking.gating");
  expect(arrivals).toMatchObject({
    "lifecycle.completed": "lifecycle.running:RUN_ENDED:0",
    "run.idle": "run.checking.asking.verifying:CHECKED_ANSWERED:4",
    "notice.due": "notice.none:RUN_ENDED:1",
  });
});

test("a resumed task has passed nothing yet", () => {
  const task = scriptTask("ses_a");
  task.whole();
  task.resume();
  expect(wayNow(task)).toMatchObject({
    passed: [],
    arrivals: { "lifecycle.resumed": "lifecycle.completed:RESUME:0", "run.queued": "run.idle:RUN_BEGAN:1" },
  });
});

test("nothing is known of a way whose journal does not lead to where the task is", () => {
  const task = scriptTask("ses_a");
  task.launch();
  const sinceWork = task.events().length;
  task.answer();
  expect(wayOfTask(task.record().snapshot, task.events().slice(sinceWork))).toBe(NO_WAY);
});

/** What XState reports of an actor that takes the events: for each that led into other states, by which transitions. */
const reportedBy = (origin: TaskInput, events: readonly TaskEvent[]): Record<string, string>[] => {
  let taken: AnyTransitionDefinition[] = [];
  const actor = createActor(taskMachine, {
    input: origin,
    inspect: (inspected) => {
      if (inspected.type === "@xstate.microstep") taken.push(...inspected._transitions);
    },
  });
  actor.start();
  let before = statePaths(actor.getSnapshot().value);
  return events.flatMap((event) => {
    taken = [];
    actor.send(event);
    const after = statePaths(actor.getSnapshot().value);
    const entered = apartFrom(after, before);
    before = after;
    return entered.length === 0 ? [] : [enteredThrough(taken, entered)];
  });
};

test("whatever happens, a replay names the transitions that XState takes, and the first run's ids change nothing", () => {
  const names = new Set(
    withAllInside(chartOf(machines.task)).flatMap((state) => state.transitions.map(({ name }) => name)),
  );
  fc.assert(
    fc.property(picks, READABLE, (chosen, words) => {
      const { origin, events, snapshot } = journalFrom(chosen, words);
      const [, ...moves] = movesOf(origin, events);
      expect(moves.map(({ through }) => through)).toEqual(reportedBy(origin, events));
      for (const { entered, through } of moves)
        expect(Object.keys(through)).toEqual(expect.arrayContaining([...entered]));
      for (const name of moves.flatMap(({ through }) => Object.values(through))) expect(names).toContain(name);
      expect(wayOfTask(snapshot, events)).toEqual(wayOf(movesOf(origin, events)));
    }),
    { numRuns: pureRuns(100) },
  );
});
