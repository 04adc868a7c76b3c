import { describe, expect, test } from "vitest";
import { statePath } from "../../../src/machines/chart.ts";
import { START } from "../../fakes/task-input.ts";
import {
  afterEvents,
  type DrivenOutbox,
  emptyOutbox,
  endOf,
  owingOutbox,
  promptOf,
  send,
  sentOutbox,
} from "./driven-outbox.ts";

/** Has a read of the parent fail. Returns how long the outbox pauses after it, in milliseconds. */
const pauseAfterFailedRead = (outbox: DrivenOutbox): number => {
  outbox.take("READ_FAILED", { at: START });
  return (outbox.snapshot.context.nextDeadline ?? 0) - START;
};

const FIRST_PAUSE = 2_000;

describe("the first pause is the shortest again", () => {
  test("for the next notice, when the one that was tried before is withdrawn", () => {
    const outbox = owingOutbox();
    for (let time = 0; time < 4; time += 1) {
      pauseAfterFailedRead(outbox);
      outbox.take("TICK");
    }
    outbox.take("WITHDRAW", { taskId: "ses_1", run: 0 });
    outbox.take("PARENT_READ", { at: START });
    expect(statePath(outbox.snapshot.value.delivery)).toBe("idle");
    outbox.take("NOTICE_DUE", { end: endOf("ses_2") });
    expect(pauseAfterFailedRead(outbox)).toBe(FIRST_PAUSE);
  });

  test("for a parent that is back, whatever was tried before it was gone", () => {
    const outbox = afterEvents(sentOutbox(), "PARENT_CLOSED", "PARENT_PRESENT");
    outbox.take("NOTICE_DUE", { end: endOf("ses_2") });
    expect(pauseAfterFailedRead(outbox)).toBe(FIRST_PAUSE);
  });

  test("for a prompt that was taken over, however often the parent was read before; and it doubles when checks fail", () => {
    const outbox = owingOutbox();
    for (let time = 0; time < 3; time += 1) {
      pauseAfterFailedRead(outbox);
      outbox.take("TICK");
    }
    outbox.take("ADOPTED", { prompts: [promptOf("msg_1", "ses_2")] });
    outbox.take("PARENT_READ");
    const pauses = [1, 2, 3].map(() => {
      outbox.take("CHECK_FAILED", { at: START });
      const pause = (outbox.snapshot.context.nextDeadline ?? 0) - START;
      outbox.take("TICK");
      return pause;
    });
    expect(pauses).toEqual([FIRST_PAUSE, 4_000, 8_000]);
  });
});

test("when the notice before was stored says nothing of a prompt that is taken over once the parent is back", () => {
  const outbox = sentOutbox();
  outbox.take("PARENT_STORED", { createdAt: 10 });
  afterEvents(outbox, "PARENT_CLOSED", "PARENT_PRESENT");
  outbox.take("ADOPTED", { prompts: [promptOf("msg_2", "ses_2")] });
  expect(outbox.refuses("PARENT_ANSWERED", { promptID: "msg_3", createdAt: 11 })).toBe(true);
});

test("what was found of a batch says nothing of its ends that come later, when the earlier ones are withdrawn", () => {
  const outbox = emptyOutbox();
  const held = (taskId: string) => ({ ...endOf(taskId), wake: "all" as const });
  outbox.take("PARENT_ERROR");
  outbox.take("NOTICE_DUE", { end: held("ses_1") });
  outbox.take("BATCHES_CHECKED", { ended: ["b"] });
  expect(statePath(outbox.snapshot.value.delivery)).toBe("waiting.gathering");
  outbox.take("WITHDRAW", { taskId: "ses_1", run: 0 });
  expect(outbox.take("NOTICE_DUE", { end: held("ses_2") })).toMatchObject([{ type: "checkBatches", batchIds: ["b"] }]);
  expect(statePath(outbox.snapshot.value.delivery)).toBe("waiting.holding");
});

test("a prompt that is taken over while the parent is read is delivered before one is composed", () => {
  const outbox = owingOutbox();
  outbox.take("ADOPTED", { prompts: [promptOf("msg_1", "ses_2")] });
  expect(outbox.take("PARENT_READ")).toMatchObject([{ type: "checkNotice", messageID: "msg_1" }]);
  expect(outbox.take("CHECKED", { standing: "answered" })).toMatchObject([
    { type: "noticeAcknowledged" },
    { type: "readParent" },
  ]);
  send(outbox, "msg_2");
  expect(outbox.snapshot.context.prompt).toMatchObject({ messageID: "msg_2", runs: [{ taskId: "ses_1" }] });
});

describe("a prompt is not sent again into a turn that has just failed", () => {
  const failed = (outbox: DrivenOutbox) => outbox.take("PARENT_ERROR", { message: "401" });

  test("when a check finds it unanswered before the failed turn is over", () => {
    const outbox = afterEvents(sentOutbox(), "TICK");
    failed(outbox);
    expect(outbox.take("CHECKED", { standing: "unanswered" })).toEqual([]);
    const { parentReadyAt = 0 } = outbox.snapshot.context;
    expect(outbox.take("TICK", { at: parentReadyAt })).toMatchObject([{ type: "readParent" }]);
    expect(outbox.take("PARENT_READ")).toMatchObject([{ type: "sendNotice", prompt: { messageID: "msg_1" } }]);
  });

  test("when the turn fails while the parent is read", () => {
    const outbox = afterEvents(sentOutbox(), "TICK");
    outbox.take("CHECKED", { standing: "unanswered" });
    failed(outbox);
    expect(outbox.take("PARENT_READ")).toEqual([]);
    expect(outbox.take("PARENT_BUSY")).toMatchObject([{ type: "readParent" }]);
  });

  test("and an answer that comes meanwhile acknowledges it", () => {
    const outbox = afterEvents(sentOutbox(), "TICK");
    failed(outbox);
    outbox.take("CHECKED", { standing: "unanswered" });
    expect(outbox.take("PARENT_ANSWERED", { promptID: "msg_1", createdAt: START })).toMatchObject([
      { type: "noticeAcknowledged" },
    ]);
  });
});
