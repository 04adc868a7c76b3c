import fc from "fast-check";
import { expect, test } from "vitest";
import { initialTransition, transition } from "xstate";
import type { TaskEvent, TaskInput } from "../../../src/machines/task/events.ts";
import { taskMachine } from "../../../src/machines/task/machine.ts";
import { replay } from "../../../src/machines/task/replay.ts";
import { pureRuns } from "../../seed.ts";
import { scriptTask } from "../../services/store/scripted-task.ts";
import { journalFrom, picks, READABLE } from "../journals.ts";

const story = () => {
  const told = scriptTask("ses_a");
  told.whole();
  const { facts, run } = told.record().snapshot.context;
  const origin: TaskInput = { facts, run };
  return { origin, events: told.events(), snapshot: told.record().snapshot };
};

test("each step says where the regions stood before and after, what was raised and what was wanted", () => {
  const { origin, events } = story();
  const { steps } = replay(origin, events);
  expect(steps.map(({ event }) => event)).toEqual(events);
  expect(steps[0]).toMatchObject({
    from: { lifecycle: "running", run: "queued", notice: "none", attention: "none", steering: "none" },
    to: { lifecycle: "running", run: "active.prompting.sending", notice: "none", attention: "none", steering: "none" },
    effects: [{ type: "sendPrompt", prompt: { messageID: "msg_ses_a" } }],
    raised: [],
    refused: undefined,
  });
  expect(steps[0]?.changed).toContain("sendAttempts");
  expect(steps[0]?.changed).not.toContain("facts");
  const answered = steps.find(({ event }) => event.type === "CHECKED_ANSWERED");
  expect(answered).toMatchObject({
    to: { lifecycle: "completed", run: "idle", notice: "due" },
    raised: [{ type: "RUN_ENDED", outcome: "completed" }],
    effects: [
      { type: "writeReceipt", run: 0 },
      { type: "queueNotice", end: { run: 0, outcome: "completed" } },
    ],
  });
});

test("a refused event has the machine's reason, and changes nothing", () => {
  const { origin, events, snapshot } = story();
  const at = events.at(-1)?.at ?? 0;
  const replayed = replay(origin, [...events, { type: "CANCEL", at }, { type: "STOPPED", at }]);
  expect(replayed.steps.slice(-2).map(({ refused }) => refused)).toEqual([
    "has already finished (completed)",
    "is completed and takes no STOPPED",
  ]);
  expect(replayed.steps.at(-1)).toMatchObject({ effects: [], raised: [], changed: [] });
  expect(replayed.snapshot).toEqual(snapshot);
});

test("an event that no version of the machine ever took is refused too, whatever is wrong with it", () => {
  const { origin } = story();
  const events = [
    { type: "REQUEST_ASKED", at: 1 },
    { type: "UNHEARD_OF", at: 2 },
    { type: "*", at: 3 },
  ] as unknown as TaskEvent[];
  const { steps } = replay(origin, events);
  expect(steps.map(({ refused }) => refused)).toEqual([
    expect.stringContaining("cannot take it: "),
    "is running.queued and takes no UNHEARD_OF",
    expect.stringContaining("cannot take it: "),
  ]);
});

test("whatever a machine accepted leads to where the machine was, also when it went through JSON", () => {
  fc.assert(
    fc.property(picks, READABLE, (chosen, words) => {
      const { origin, events } = journalFrom(chosen, words);
      let [snapshot] = initialTransition(taskMachine, origin);
      for (const event of events) [snapshot] = transition(taskMachine, snapshot, event);
      const stored = JSON.parse(JSON.stringify({ origin, events }));
      const replayed = replay(stored.origin, stored.events);
      expect(replayed.steps.filter(({ refused }) => refused)).toEqual([]);
      expect(replayed.snapshot.value).toEqual(snapshot.value);
      expect(JSON.parse(JSON.stringify(replayed.snapshot.context))).toEqual(
        JSON.parse(JSON.stringify(snapshot.context)),
      );
    }),
    { numRuns: pureRuns(200) },
  );
});
