import { describe, expect, test } from "vitest";
import { initialTransition, transition } from "xstate";
import type { TaskEvent } from "../../src/machines/task/events.ts";
import {
  lifecyclePath,
  refusalReason,
  statusOf,
  type TaskSnapshot,
  taskMachine,
} from "../../src/machines/task/machine.ts";
import { slotOf } from "../../src/machines/task/slot.ts";
import { brokenPromises } from "../fakes/broken-promises.ts";
import { wholeTasks } from "../services/store/whole-tasks.ts";
import { comparable, createTaskDriver, type TaskDriver } from "./task-driver.ts";
import { again } from "./task-events.ts";
import { createTaskHistory, effectsOf } from "./task-history.ts";
import { shortestWays, simplePaths, snapshotsOn, type TaskPath } from "./task-paths.ts";
import { activeStates, statesOf, takenAtFirst, takenBy, transitionsOf } from "./transitions.ts";

const taken = new Set<unknown>();
const visited = new Set<string>();

/** Notes each state that a task was in, and each transition that it took, by what the engine wrote down of it. */
const cover = ({ input }: TaskPath, journal: TaskEvent[]) => {
  for (const definition of takenAtFirst(taskMachine, input)) taken.add(definition);
  let [snapshot] = initialTransition(taskMachine, input);
  const visit = () => {
    for (const state of activeStates(snapshot)) visited.add(state);
  };
  visit();
  for (const event of journal) {
    for (const definition of takenBy(taskMachine, snapshot, event)) taken.add(definition);
    [snapshot] = transition(taskMachine, snapshot, event);
    visit();
  }
};

const nameOf = ({ events, input, recovery }: TaskPath): string =>
  `${input.facts.gate ? `(with a gate${input.facts.gate.before ? ", before it begins, too" : ""}) ` : ""}${input.facts.schema ? "(with a schema) " : ""}${input.facts.fleet ? "(for other servers) " : ""}${events.map(({ type }) => type).join(" ")}${recovery === "fail" ? " (recovery: fail)" : ""}`;

/** What the tools refuse, and why, is what the chart refuses. */
const expectRefusals = async ({ stage }: TaskDriver, taskId: string, snapshot: TaskSnapshot) => {
  const at = stage.clock.now();
  const cancel = refusalReason(snapshot, { type: "CANCEL", at });
  // Asked to cancel what is being cancelled, the tool waits until that is done.
  if (cancel && snapshot.context.completedAt !== undefined)
    expect(await stage.call("cancel", { task_id: taskId })).toContain(cancel);
  const resume = refusalReason(snapshot, { type: "RESUME", at, messageID: "", partID: "", prompt: "" });
  const budgetFrom = { toolCalls: 0, tokens: 0, cost: 0 };
  const retry = refusalReason(snapshot, { type: "RETRY", at, messageID: "", partID: "", prompt: "", budgetFrom });
  const steer = refusalReason(snapshot, {
    type: "STEER",
    at,
    messageID: "",
    partID: "",
    prompt: "",
    text: "",
    from: "agent",
  });
  if (steer) await expect(stage.call("task", { steer: taskId, prompt: "Faster." })).rejects.toThrow(steer);
  if (retry) await expect(stage.call("task", { retry: taskId })).rejects.toThrow(retry);
  if (resume) await expect(stage.call("task", { resume: taskId, prompt: "And now?" })).rejects.toThrow(resume);
};

/** The chart's steps on the way are what is promised of every history: that expectation does not come from the chart. */
const expectPromised = ({ input, events }: TaskPath, snapshots: TaskSnapshot[]) => {
  const [, begin] = initialTransition(taskMachine, input);
  const history = createTaskHistory(input.run, effectsOf(begin), input.facts);
  for (const [index, event] of events.entries()) {
    const [before, after] = [snapshots[index], snapshots[index + 1]] as [TaskSnapshot, TaskSnapshot];
    const given = again(event, before);
    const [, actions] = transition(taskMachine, before, given);
    history.take({ event: given, effects: effectsOf(actions), status: statusOf(after), slot: slotOf(after) });
  }
};

const walk = async (path: TaskPath) => {
  const snapshots = snapshotsOn(path);
  expectPromised(path, snapshots);
  const driver = await createTaskDriver(path.recovery, path.input.facts);
  try {
    for (const [index, event] of path.events.entries()) {
      const [before, after] = [snapshots[index], snapshots[index + 1]] as [TaskSnapshot, TaskSnapshot];
      await driver.drive(event, before);
      // The engine itself begins the next run at once.
      if (after.value.nextRun === "beginning") continue;
      const step = `${index + 1}. ${event.type}`;
      const { newest } = driver.recorded;
      expect(newest && comparable(newest), step).toEqual(comparable(after));
      if (event.type === "NOTICE_DROPPED") continue;
      const [task] = wholeTasks(driver.stage.store);
      expect(task, step).toMatchObject({ status: statusOf(after), state: lifecyclePath(after) });
      if (task && index === path.events.length - 1) await expectRefusals(driver, task.sessionID, after);
    }
    const { origin, journal, newest } = driver.recorded;
    cover(path, journal);
    if (!origin || !newest) throw new Error("the task was never stored");
    expect(brokenPromises({ taskId: origin.facts.sessionID, origin, events: journal, snapshot: newest })).toEqual([]);
  } finally {
    driver.end();
  }
};

const each = (paths: TaskPath[]) => test.each(paths.map((path) => [nameOf(path), path] as const));

const { byTransition, toNobody, withoutReceipt } = shortestWays();

describe("the engine goes along with the task's chart", () => {
  describe("by a shortest way to each transition", () => {
    each(byTransition)("%s", (_, path) => walk(path));
  });
  describe("when there is nobody to notify any more", () => {
    each(toNobody)("%s", (_, path) => walk(path));
  });
  test("when the receipt of a run is not written when its process dies", () => walk(withoutReceipt));
  describe("by every simple way through what most tasks go through", () => {
    each(simplePaths())("%s", (_, path) => walk(path));
  });

  test("through every state, and by every transition that can be brought about", () => {
    const states = statesOf(taskMachine).filter((state) => state !== taskMachine.id);
    const transitions = transitionsOf(taskMachine);
    const missed = transitions.filter(({ definition }) => !taken.has(definition)).map(({ name }) => name);
    const reached = states.filter((state) => visited.has(state));
    const share = (part: number, whole: number) => `${part}/${whole}`;
    console.info(
      `task chart: states ${share(reached.length, states.length)}, transitions ${share(transitions.length - missed.length, transitions.length)}`,
    );
    expect(states.filter((state) => !visited.has(state))).toEqual([]);
    expect(missed).toEqual([]);
  });
});
