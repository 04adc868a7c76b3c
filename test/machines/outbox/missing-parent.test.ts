import { describe, expect, test } from "vitest";
import { OUTBOX_LIMITS } from "../../../src/machines/outbox/setup.ts";
import { START } from "../../fakes/task-input.ts";
import { afterEvents, type DrivenOutbox, emptyOutbox, owingOutbox, promptOf, sentOutbox } from "./driven-outbox.ts";

/** An outbox that owes an end, and whose parent is not found. */
const lostOutbox = (): DrivenOutbox => {
  const outbox = owingOutbox();
  outbox.take("PARENT_NOT_FOUND");
  return outbox;
};

describe("a parent that the host does not find", () => {
  test("is searched for after 5 seconds, and not before", () => {
    const outbox = lostOutbox();
    expect(outbox.refuses("TICK", { at: START + OUTBOX_LIMITS.firstSearch - 1 })).toBe(true);
    expect(outbox.take("TICK", { at: START + OUTBOX_LIMITS.firstSearch })).toEqual([
      { type: "findParent", parentSessionID: "ses_parent" },
    ]);
  });

  test("is searched for again after pauses that double up to ten minutes, as long as the host does not say", () => {
    const outbox = lostOutbox();
    const pauses: number[] = [];
    let since = START;
    for (let time = 0; time < 9; time += 1) {
      const due = outbox.snapshot.context.nextDeadline ?? 0;
      pauses.push((due - since) / 1_000);
      since = due;
      outbox.take("TICK");
      expect(outbox.take("SEARCH_FAILED")).toEqual([]);
    }
    expect(pauses).toEqual([5, 10, 20, 40, 80, 160, 320, 600, 600]);
  });

  test.for(["PARENT_FOUND", "PARENT_PRESENT"] as const)("is sent the notice once it is there: %s", (type) => {
    const outbox = afterEvents(lostOutbox(), "TICK");
    expect(outbox.take(type)).toMatchObject([{ type: "readParent" }]);
  });

  test("is sent the notice as soon as it does something, before it is searched for", () => {
    expect(lostOutbox().take("PARENT_PRESENT")).toMatchObject([{ type: "readParent" }]);
  });

  test.for(["TICK", undefined] as const)(
    "has the prompt looked for first when one was sent (searched: %s)",
    (searched) => {
      const outbox = afterEvents(sentOutbox(), "PARENT_NOT_FOUND");
      if (searched) outbox.take(searched);
      expect(outbox.take("PARENT_PRESENT")).toEqual([
        { type: "checkNotice", parentSessionID: "ses_parent", messageID: "msg_1" },
      ]);
    },
  );

  test.for([0, 1])("has read the prompt when it answers it meanwhile (%s searches)", (searches) => {
    const outbox = afterEvents(sentOutbox(), "PARENT_NOT_FOUND");
    for (let time = 0; time < searches; time += 1) outbox.take("TICK");
    expect(outbox.take("PARENT_ANSWERED", { promptID: "msg_1", createdAt: START })).toMatchObject([
      { type: "noticeAcknowledged" },
    ]);
  });

  test("is searched for after 5 seconds again when a prompt has reached it in between", () => {
    const outbox = afterEvents(lostOutbox(), "TICK", "SEARCH_FAILED", "PARENT_PRESENT", "PARENT_READ");
    outbox.take("COMPOSED", { prompt: promptOf("msg_1", "ses_1") });
    outbox.take("PARENT_NOT_FOUND");
    const { nextDeadline: first = 0 } = outbox.snapshot.context;
    afterEvents(outbox, "TICK", "PARENT_FOUND");
    outbox.take("CHECKED", { standing: "unanswered" });
    afterEvents(outbox, "PARENT_READ", "SENT", "PARENT_NOT_FOUND");
    expect((outbox.snapshot.context.nextDeadline ?? 0) - first).toBe(OUTBOX_LIMITS.firstSearch);
  });

  test("may be found missing when nothing is owed", () => {
    const outbox = emptyOutbox();
    expect(outbox.take("PARENT_NOT_FOUND")).toEqual([]);
    expect(outbox.take("TICK")).toMatchObject([{ type: "findParent" }]);
  });
});
