import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { TaskEvent } from "../../../src/machines/task/events.ts";
import { walk } from "../../../src/machines/task/replay.ts";
import { askedForAfter, findEvent, positionAfter } from "../../../src/services/replay/positions.ts";
import { START, taskInput } from "../../fakes/task-input.ts";
import { journalFrom, picks, READABLE } from "../../machines/journals.ts";

const input = taskInput("ses_counting", {}, START);
const at = START + 1_000;

/** The events of a task that is answered, and then cancelled in its next run. */
const EVENTS: TaskEvent[] = [
  { type: "SLOT_GRANTED", at },
  { type: "PROMPT_ACCEPTED", at },
  { type: "HOST_IDLE", at: at + 1 },
  { type: "CHECKED_ANSWERED", at: at + 2, checkId: 1, completedAt: at, result: "12" },
  { type: "NOTICE_COMPOSED", at: at + 3 },
  { type: "NOTICE_ACKNOWLEDGED", at: at + 4 },
  { type: "RESUME", at: at + 5, messageID: "msg_r", partID: "prt_r", prompt: "And now?" },
  { type: "SLOT_GRANTED", at: at + 6 },
  { type: "PROMPT_ACCEPTED", at: at + 6 },
  { type: "CANCEL", at: at + 7 },
];

const walked = walk(input, EVENTS);
const askedFor = (taken: number) => askedForAfter(walked, taken).map(({ effect, since }) => `${effect.type} ${since}`);

describe("what had been asked for", () => {
  test("is what no event has answered yet", () => {
    expect(askedFor(0)).toEqual(["requestSlot 0"]);
    expect(askedFor(1)).toEqual(["sendPrompt 1"]);
    expect(askedFor(2)).toEqual([]);
    expect(askedFor(3)).toEqual(["checkRun 3"]);
    expect(askedFor(4)).toEqual(["writeReceipt 4", "queueNotice 4"]);
    expect(askedFor(5)).toEqual(["writeReceipt 4"]);
    expect(askedFor(10)).toEqual(["writeReceipt 4", "stopSession 10"]);
  });

  test("is gone with the process that had begun it", () => {
    const adopted = walk(input, [
      ...EVENTS.slice(0, 3),
      { type: "ADOPTED", at: at + 2, recovery: "continue", isNoticePending: false },
    ]);
    expect(askedForAfter(adopted, 4).map(({ effect, since }) => `${effect.type} ${since}`)).toEqual(["checkRun 4"]);
  });

  test("is replaced by what asks the same anew", () => {
    const again = walk(input, [...EVENTS.slice(0, 3), { type: "HOST_IDLE", at: at + 2 }]);
    expect(askedForAfter(again, 4)).toMatchObject([{ effect: { type: "checkRun", checkId: 2 }, since: 4 }]);
  });
});

describe("what was possible", () => {
  const possibleAfter = (taken: number) =>
    positionAfter(walked, taken).possible.map(({ which, step }) => `${step.event.type} ${which}: ${step.to.run}`);

  test("is what the chart takes there, with where it leads", () => {
    expect(possibleAfter(0)).toContain("CANCEL : idle");
    expect(possibleAfter(0)).toContain("SLOT_GRANTED : active.prompting.sending");
    expect(possibleAfter(1)).toContain("PROMPT_REFUSED for now: active.prompting.backingOff");
    expect(possibleAfter(1)).toContain("PROMPT_REFUSED for good: idle");
    expect(possibleAfter(3)).toContain("CHECKED_ANSWERED : idle");
    expect(possibleAfter(2).join()).not.toContain("CHECKED_ANSWERED");
    expect(possibleAfter(6)).toEqual([
      "RESUME : queued",
      "RECEIPT_WRITTEN : idle",
      "RECEIPT_INCOMPLETE : idle",
      "RESULT_READ : idle",
      "ADOPTED : idle",
      "WAIT_BEGAN : idle",
    ]);
  });

  test("has the time at which a pause is over", () => {
    const paused = walk(input, [
      { type: "SLOT_GRANTED", at },
      { type: "PROMPT_REFUSED", at, error: { name: "Host", kind: "host", message: "away" }, retryable: true },
    ]);
    const tick = positionAfter(paused, 2).possible.find(({ step }) => step.event.type === "TICK");
    expect(tick?.step).toMatchObject({ event: { at: at + 1_000 }, to: { run: "active.prompting.sending" } });
  });

  test("always includes the event that came, unless that made no difference", () => {
    fc.assert(
      fc.property(picks, READABLE, (chosen, words) => {
        const { origin, events } = journalFrom(chosen, words);
        const journal = walk(origin, events);
        for (const [taken, step] of journal.steps.entries()) {
          const isIdle =
            step.changed.length === 0 &&
            step.effects.length === 0 &&
            JSON.stringify(step.from) === JSON.stringify(step.to);
          if (isIdle) continue;
          const types = positionAfter(journal, taken).possible.map(({ step: { event } }) => event.type);
          expect(types, `before event ${taken + 1}`).toContain(step.event.type);
        }
      }),
      { numRuns: 10 },
    );
  });
});

describe("an event is found", () => {
  test.each([
    ["4", 0, { before: 3, numbers: [4] }],
    ["SLOT_GRANTED", 0, { before: 0, numbers: [1, 8] }],
    ["slot-granted", 3, { before: 7, numbers: [1, 8] }],
    ["end", 0, { before: 10, numbers: [] }],
    ["0", 0, { wrong: "There is no event 0: the journal has events 1 to 10." }],
    ["11", 0, { wrong: "There is no event 11: the journal has events 1 to 10." }],
    ["RESUME", 7, { wrong: "No RESUME comes after event 7: the last one is event 7." }],
    [
      "STEER",
      0,
      {
        wrong:
          'The journal has no event "STEER". Give its number, "end", or one of CANCEL, CHECKED_ANSWERED, HOST_IDLE, NOTICE_ACKNOWLEDGED, NOTICE_COMPOSED, PROMPT_ACCEPTED, RESUME, SLOT_GRANTED.',
      },
    ],
  ])("by %s after %i events", (named, taken, found) => {
    expect(findEvent(walked, named, taken)).toEqual(found);
  });
});
