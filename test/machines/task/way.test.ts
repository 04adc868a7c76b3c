import fc from "fast-check";
import { expect, test } from "vitest";
import { initialTransition, transition } from "xstate";
import { statePaths } from "../../../src/machines/chart.ts";
import { machines } from "../../../src/machines/chart-json.ts";
import { movesOf } from "../../../src/machines/moves.ts";
import { isInState } from "../../../src/machines/place.ts";
import { chartOf, withAllInside } from "../../../src/machines/plain-chart.ts";
import type { TaskEvent } from "../../../src/machines/task/events.ts";
import { taskMachine } from "../../../src/machines/task/machine.ts";
import { wayOfTask } from "../../../src/machines/task/way.ts";
import { NO_WAY, wayOf } from "../../../src/machines/way.ts";
import { START, taskInput } from "../../fakes/task-input.ts";
import { pureRuns } from "../../seed.ts";
import { type ScriptedTask, scriptTask } from "../../services/store/scripted-task.ts";
import { journalFrom, picks, READABLE } from "../journals.ts";

const wayNow = (task: ScriptedTask, events = task.events()) => {
  const { snapshot } = task.record();
  const { facts } = snapshot.context;
  return wayOfTask(taskInput(facts.sessionID), events, snapshot);
};

test("a task at work has passed the queue and its prompt, and came there as that was accepted", () => {
  const task = scriptTask("ses_a");
  task.launch();
  expect(wayNow(task)).toEqual({
    passed: ["run.queued", "run.active.prompting.sending", "run.active.prompting"],
    arrivals: {
      "run.active.working.busy": "run.active.prompting.sending:PROMPT_ACCEPTED:2",
      "run.active.working": "run.active.prompting.sending:PROMPT_ACCEPTED:2",
      "run.active": "run.queued:SLOT_GRANTED:2",
    },
  });
});

test("a task that has ended has passed all of its run, and came to its outcome and its notice as that ended", () => {
  const task = scriptTask("ses_a");
  task.launch();
  task.answer();
  const { passed, arrivals } = wayNow(task);
  expect(passed).toEqual(
    expect.arrayContaining(["lifecycle.running", "run.active.working", "run.active.checking.asking.verifying"]),
  );
  expect(passed).not.toContain("run.active.checking.gating");
  expect(arrivals).toMatchObject({
    "lifecycle.completed": "lifecycle.running:RUN_ENDED:0",
    "run.idle": "run.active.checking.asking.verifying:CHECKED_ANSWERED:4",
    "notice.due": "notice.none:RUN_ENDED:1",
  });
});

test("a resumed task has passed nothing yet", () => {
  const task = scriptTask("ses_a");
  task.whole();
  task.resume();
  expect(wayNow(task)).toMatchObject({
    passed: [],
    arrivals: { "lifecycle.resumed": "lifecycle.completed:RESUME:0", "run.queued": "run.idle:RUN_BEGAN:2" },
  });
});

test("nothing is known of a way whose journal does not lead to where the task is", () => {
  const task = scriptTask("ses_a");
  task.launch();
  const sinceWork = task.events().length;
  task.answer();
  expect(wayNow(task, task.events().slice(sinceWork))).toBe(NO_WAY);
});

test("whatever happens, the way leads from state to state as a replay does, each time through a transition of the chart", () => {
  const transitions = new Map(
    withAllInside(chartOf(machines.task)).flatMap((state) => state.transitions.map((one) => [one.name, one] as const)),
  );
  fc.assert(
    fc.property(picks, READABLE, (chosen, words) => {
      const { origin, events, snapshot } = journalFrom(chosen, words);
      const [begin, ...moves] = movesOf(taskMachine, origin, events);
      let states = [...(begin?.entered ?? [])];
      expect(states).toEqual(statePaths(initialTransition(taskMachine, origin)[0].value));
      for (const { left, entered, through } of moves) {
        for (const state of entered) {
          const { source = "", targets = [] } = transitions.get(through[state] ?? "") ?? {};
          expect(states.some((before) => isInState(before, source) && left.includes(before))).toBe(true);
          expect(targets.some((target) => isInState(state, target))).toBe(true);
        }
        states = [...states.filter((state) => !left.includes(state)), ...entered];
      }
      expect(states.toSorted()).toEqual(statePaths(snapshot.value).toSorted());
      expect(wayOfTask(origin, events, snapshot)).toEqual(wayOf(movesOf(taskMachine, origin, events)));
    }),
    { numRuns: pureRuns(100) },
  );
});

test("an event that makes the chart throw ends the way, and nothing else", () => {
  const task = scriptTask("ses_a");
  task.launch();
  const broken = { type: "REQUEST_ASKED", at: START } as TaskEvent;
  expect(() => transition(taskMachine, taskMachine.resolveState(task.record().snapshot), broken)).toThrow();
  expect(wayNow(task, [...task.events(), broken, { type: "HOST_IDLE", at: START }])).toMatchObject({
    arrivals: { "run.active.working": "run.active.prompting.sending:PROMPT_ACCEPTED:2" },
  });
});
