import { describe, expect, test } from "vitest";
import { statePath } from "../../../src/machines/chart.ts";
import { isIdle } from "../../../src/machines/outbox/machine.ts";
import { OUTBOX_LIMITS } from "../../../src/machines/outbox/setup.ts";
import type { RunResult } from "../../../src/machines/task/events.ts";
import { START } from "../../fakes/task-input.ts";
import { afterEvents, type DrivenOutbox, emptyOutbox, endOf, promptOf, sentOutbox } from "./driven-outbox.ts";

/** The end of a task that wakes its parent only when all of its batch have ended. */
const heldEnd = (taskId: string, batchId: string, more: Partial<RunResult> = {}) =>
  endOf(taskId, 0, { wake: "all", batchId, ...more });

const checkOf = (...batchIds: string[]) => [{ type: "checkBatches", parentSessionID: "ses_parent", batchIds }];

/** An outbox that is owed two ends of the batch `b`, of which others are at work. */
const holdingOutbox = (): DrivenOutbox => {
  const outbox = emptyOutbox();
  for (const taskId of ["ses_1", "ses_2"]) outbox.take("NOTICE_DUE", { end: heldEnd(taskId, "b") });
  outbox.take("BATCHES_CHECKED", { ended: [] });
  return outbox;
};

describe("ends that are held until their batch has ended", () => {
  test("have each batch checked once, again with each end that comes", () => {
    const outbox = emptyOutbox();
    expect(outbox.take("NOTICE_DUE", { end: heldEnd("ses_1", "b") })).toEqual(checkOf("b"));
    expect(outbox.take("NOTICE_DUE", { end: heldEnd("ses_2", "b") })).toEqual(checkOf("b"));
    expect(outbox.take("NOTICE_DUE", { end: heldEnd("ses_3", "c") })).toEqual(checkOf("b", "c"));
    expect(outbox.refuses("NOTICE_DUE", { end: heldEnd("ses_3", "c") })).toBe(true);
  });

  test("have their batches checked again every 15 seconds, for another process tells nothing of its tasks", () => {
    const outbox = holdingOutbox();
    for (const time of [1, 2]) {
      const due = START + time * OUTBOX_LIMITS.recheckBatches;
      expect(outbox.refuses("TICK", { at: due - 1 })).toBe(true);
      expect(outbox.take("TICK", { at: due })).toEqual(checkOf("b"));
    }
  });

  test("are withdrawn without the others, and the batch is checked at once: it may have ended without them", () => {
    const outbox = holdingOutbox();
    outbox.take("NOTICE_DUE", { end: heldEnd("ses_3", "c") });
    expect(outbox.take("WITHDRAW", { taskId: "ses_3", run: 0 })).toEqual(checkOf("b"));
    expect(outbox.snapshot.context.queue.map(({ taskId }) => taskId)).toEqual(["ses_1", "ses_2"]);
    outbox.take("WITHDRAW", { taskId: "ses_1", run: 0 });
    outbox.take("WITHDRAW", { taskId: "ses_2", run: 0 });
    expect(isIdle(outbox.snapshot)).toBe(true);
  });

  test("are delivered together once the batch has ended, with those of other batches", () => {
    const outbox = holdingOutbox();
    outbox.take("NOTICE_DUE", { end: heldEnd("ses_3", "c") });
    expect(outbox.take("BATCHES_CHECKED", { ended: ["d"] })).toEqual([]);
    expect(outbox.take("BATCHES_CHECKED", { ended: ["b"] })).toMatchObject([{ type: "readParent" }]);
    expect(outbox.take("PARENT_READ")).toMatchObject([
      {
        type: "composeNotice",
        queue: [
          { taskId: "ses_1", wake: "each" },
          { taskId: "ses_2", wake: "each" },
          { taskId: "ses_3", wake: "all" },
        ],
      },
    ]);
  });

  test.for([
    ["an end that wakes the parent by itself", endOf("ses_3", 0, { batchId: "c" })],
    ["an error", heldEnd("ses_3", "b", { outcome: "error" })],
  ] as const)("are delivered at once with %s", ([, end]) => {
    const outbox = holdingOutbox();
    expect(outbox.take("NOTICE_DUE", { end }).at(-1)).toMatchObject({ type: "readParent" });
  });

  test("are not delivered by what was found of their batch before: a task launched since may be at work", () => {
    const outbox = holdingOutbox();
    outbox.take("BATCHES_CHECKED", { ended: ["b"] });
    outbox.take("PARENT_READ");
    outbox.take("COMPOSED", { prompt: promptOf("msg_1", "ses_1", "ses_2") });
    outbox.take("SENT");
    outbox.take("NOTICE_DUE", { end: heldEnd("ses_3", "b") });
    expect(outbox.take("PARENT_ANSWERED", { promptID: "msg_1", createdAt: START })).toContainEqual(checkOf("b")[0]);
    expect(statePath(outbox.snapshot.value.delivery)).toBe("waiting.holding");
  });

  test("go on being held when the end that was to wake the parent is withdrawn", () => {
    const outbox = afterEvents(emptyOutbox(), "PARENT_ERROR");
    outbox.take("NOTICE_DUE", { end: heldEnd("ses_1", "b") });
    outbox.take("NOTICE_DUE", { end: endOf("ses_2", 0, { batchId: "c" }) });
    expect(statePath(outbox.snapshot.value.delivery)).toBe("waiting.gathering");
    expect(outbox.take("WITHDRAW", { taskId: "ses_2", run: 0 })).toEqual(checkOf("b"));
    expect(statePath(outbox.snapshot.value.delivery)).toBe("waiting.holding");
  });

  test("forget that a batch had ended when what was to wake the parent is withdrawn", () => {
    const outbox = holdingOutbox();
    outbox.take("NOTICE_DUE", { end: heldEnd("ses_3", "c") });
    outbox.take("PARENT_ERROR");
    outbox.take("BATCHES_CHECKED", { ended: ["c"] });
    expect(statePath(outbox.snapshot.value.delivery)).toBe("waiting.gathering");
    expect(outbox.take("WITHDRAW", { taskId: "ses_3", run: 0 })).toEqual(checkOf("b"));
    outbox.take("PARENT_BUSY");
    expect(outbox.take("NOTICE_DUE", { end: heldEnd("ses_4", "c") })).toEqual(checkOf("b", "c"));
  });

  test.each(["after the stop is known", "before it is known"])(
    "wake a parent whose turn a person stopped when the last of their batch ends, %s",
    (when) => {
      const outbox = afterEvents(sentOutbox(), "TICK");
      const stop = { standing: "stopped", storedAt: START, stoppedAt: START + 100 } as const;
      const last = heldEnd("ses_3", "b", { endedAt: START + 200 });
      outbox.take("NOTICE_DUE", { end: heldEnd("ses_2", "b") });
      if (when === "before it is known") outbox.take("NOTICE_DUE", { end: last });
      expect(outbox.take("CHECKED", stop)).toEqual(checkOf("b"));
      if (when === "after the stop is known") expect(outbox.take("NOTICE_DUE", { end: last })).toEqual(checkOf("b"));
      expect(outbox.take("BATCHES_CHECKED", { ended: ["b"] })).toMatchObject([{ type: "readParent" }]);
    },
  );

  test("do not wake a parent whose turn a person stopped after the last of them had ended", () => {
    const outbox = sentOutbox();
    outbox.take("NOTICE_DUE", { end: heldEnd("ses_2", "b") });
    outbox.take("NOTICE_DUE", { end: endOf("ses_3") });
    outbox.take("TICK");
    outbox.take("CHECKED", { standing: "stopped", storedAt: START, stoppedAt: START + 100 });
    expect(outbox.take("BATCHES_CHECKED", { ended: ["b"] })).toEqual([]);
    expect(statePath(outbox.snapshot.value.delivery)).toBe("delivering.stopped");
  });

  test("wait for nothing any more when the parent closes", () => {
    const outbox = afterEvents(holdingOutbox(), "PARENT_CLOSED");
    expect(outbox.snapshot.context.nextDeadline).toBeUndefined();
  });
});
