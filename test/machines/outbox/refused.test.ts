import { describe, expect, test } from "vitest";
import { isIdle } from "../../../src/machines/outbox/machine.ts";
import { OUTBOX_LIMITS } from "../../../src/machines/outbox/setup.ts";
import { afterEvents, type DrivenOutbox, endOf, owingOutbox, promptOf, sentOutbox } from "./driven-outbox.ts";

/** An outbox whose prompt `msg_1` is on its way to the host. */
const sendingOutbox = (): DrivenOutbox => {
  const outbox = owingOutbox();
  outbox.take("PARENT_READ");
  outbox.take("COMPOSED", { prompt: promptOf("msg_1", "ses_1") });
  return outbox;
};

/** Has the pause over and the parent read; returns what was requested for each. */
const tryAgain = (outbox: DrivenOutbox) => [...outbox.take("TICK"), ...outbox.take("PARENT_READ")];

const givenUp = (reason: string) => {
  const runs = [{ taskId: "ses_1", run: 0 }];
  return [
    { type: "noticeRejected", parentSessionID: "ses_parent", runs, reason },
    { type: "noticeDropped", parentSessionID: "ses_parent", runs },
  ];
};

describe("a prompt that the host refuses for now", () => {
  test("is sent again after a pause that doubles, with the same id, however often", () => {
    const outbox = sendingOutbox();
    const pauses: number[] = [];
    for (let time = 0; time < 5; time += 1) {
      const before = outbox.snapshot.context.nextDeadline ?? 0;
      expect(outbox.take("SEND_REFUSED", { retryable: true })).toEqual([]);
      expect(outbox.refuses("TICK", { at: (outbox.snapshot.context.nextDeadline ?? 0) - 1 })).toBe(true);
      expect(before).toBe(0);
      const since = outbox.snapshot.context.nextDeadline ?? 0;
      expect(tryAgain(outbox)).toMatchObject([
        { type: "readParent", wasRefused: false },
        { type: "sendNotice", prompt: { messageID: "msg_1" } },
      ]);
      pauses.push(since);
    }
    const [first = 0, ...more] = pauses;
    expect(more.map((at, index) => at - (pauses[index] ?? 0))).toEqual([4_000, 8_000, 16_000, 32_000]);
    expect(first).toBeGreaterThan(0);
  });

  test("is not refused by the answer to another prompt", () => {
    for (const retryable of [true, false]) {
      expect(sendingOutbox().refuses("SEND_REFUSED", { messageID: "msg_0", retryable })).toBe(true);
    }
    expect(sendingOutbox().refuses("SENT", { messageID: "msg_0" })).toBe(true);
  });
});

describe("a prompt that the host refuses for good", () => {
  test("is sent without the parent's agent, which may have vanished, and given up after the third refusal", () => {
    const outbox = sendingOutbox();
    for (let time = 1; time < OUTBOX_LIMITS.refusals; time += 1) {
      expect(outbox.take("SEND_REFUSED", { retryable: false, message: "no such agent" })).toEqual([]);
      expect(tryAgain(outbox)).toMatchObject([{ type: "readParent", wasRefused: true }, { type: "sendNotice" }]);
    }
    expect(outbox.take("SEND_REFUSED", { retryable: false, message: "still no" })).toEqual(givenUp("still no"));
    expect(isIdle(outbox.snapshot)).toBe(true);
  });

  test("leaves nothing behind for the next prompt", () => {
    const outbox = sendingOutbox();
    for (let time = 1; time < OUTBOX_LIMITS.refusals; time += 1) {
      outbox.take("SEND_REFUSED", { retryable: false });
      tryAgain(outbox);
    }
    outbox.take("SEND_REFUSED", { retryable: false });
    expect(outbox.take("NOTICE_DUE", { end: endOf("ses_2") })).toMatchObject([
      { type: "readParent", wasRefused: false },
    ]);
    expect(outbox.take("PARENT_READ")).toMatchObject([{ type: "composeNotice" }]);
    expect(outbox.snapshot.context).toMatchObject({ attempts: 0, refusals: 0, prompt: undefined });
  });
});

describe("a prompt that the host takes and the parent fails on", () => {
  /** Has the parent fail, and the host say that the prompt is not answered. */
  const failOn = (outbox: DrivenOutbox, ...messages: string[]) => {
    for (const message of messages) outbox.take("PARENT_ERROR", { message });
    outbox.take("TICK");
    return outbox.take("CHECKED", { standing: "unanswered" });
  };

  test("counts as refused, and is given up after the third failure with the first error of the last one", () => {
    const outbox = sentOutbox();
    for (let time = 1; time < OUTBOX_LIMITS.refusals; time += 1) {
      expect(failOn(outbox, `failure ${time}`)).toMatchObject([{ type: "readParent", wasRefused: true }]);
      afterEvents(outbox, "PARENT_READ", "SENT");
    }
    expect(failOn(outbox, "the cause", "a consequence")).toEqual(givenUp("the cause"));
    expect(isIdle(outbox.snapshot)).toBe(true);
  });

  test("counts as refused as well when the parent is not found while it is sent", () => {
    const outbox = sendingOutbox();
    expect(outbox.take("PARENT_NOT_FOUND", { message: "no session" })).toEqual([]);
    expect(outbox.take("TICK")).toMatchObject([{ type: "findParent" }]);
    expect(outbox.take("PARENT_FOUND")).toMatchObject([{ type: "checkNotice" }]);
    expect(outbox.take("CHECKED", { standing: "unanswered" })).toMatchObject([
      { type: "readParent", wasRefused: true },
    ]);
  });

  test.each(["host", "unknown"] as const)(
    "for a fault (%s) is sent again, though the message looks stopped",
    (fault) => {
      const outbox = sentOutbox();
      outbox.take("PARENT_ERROR", { message: "database is locked", fault });
      afterEvents(outbox, "PARENT_IDLE", "TICK");
      expect(outbox.take("CHECKED", { standing: "stopped", storedAt: 1 })).toMatchObject([{ type: "readParent" }]);
      expect(outbox.take("PARENT_READ")).toMatchObject([{ type: "sendNotice", prompt: { messageID: "msg_1" } }]);
    },
  );

  test("does not count as refused once it was sent again without a failure", () => {
    const outbox = sentOutbox();
    failOn(outbox, "once");
    afterEvents(outbox, "PARENT_READ", "SENT");
    expect(failOn(outbox)).toMatchObject([{ type: "readParent", wasRefused: false }]);
    afterEvents(outbox, "PARENT_READ", "SENT");
    for (let time = 1; time < OUTBOX_LIMITS.refusals; time += 1) {
      expect(failOn(outbox, "again")).toMatchObject([{ type: "readParent" }]);
      afterEvents(outbox, "PARENT_READ", "SENT");
    }
  });

  test("is not answered, nor left unanswered, by what a check of another prompt found", () => {
    const outbox = afterEvents(sentOutbox(), "TICK");
    for (const standing of ["answered", "pending", "unanswered"] as const) {
      expect(outbox.refuses("CHECKED", { messageID: "msg_0", standing }), standing).toBe(true);
    }
    expect(outbox.refuses("CHECK_FAILED", { messageID: "msg_0" })).toBe(true);
  });
});
