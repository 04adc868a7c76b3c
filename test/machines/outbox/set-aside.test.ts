import { describe, expect, test } from "vitest";
import { statePath } from "../../../src/machines/chart.ts";
import { isIdle, watchesParent } from "../../../src/machines/outbox/machine.ts";
import { LOOK_BACKOFF } from "../../../src/machines/outbox/setup.ts";
import { afterEvents, type DrivenOutbox, endOf, owingOutbox, sentOutbox } from "./driven-outbox.ts";

/** An outbox that owes the end of `ses_1` to a parent that a person has set aside. */
const setAside = (): DrivenOutbox => {
  const outbox = owingOutbox();
  outbox.take("PARENT_READ", { setAside: "archived" });
  return outbox;
};

/** The same, where its prompt was composed before. */
const setAsideWithPrompt = (): DrivenOutbox => {
  const outbox = afterEvents(sentOutbox(), "TICK");
  outbox.take("CHECKED", { standing: "unanswered" });
  outbox.take("PARENT_READ", { setAside: "reverted" });
  return outbox;
};

const stateOf = ({ snapshot }: DrivenOutbox) => statePath(snapshot.value.delivery);
const typesOf = (effects: { type: string }[]) => effects.map(({ type }) => type);

describe("a parent that a person has set aside", () => {
  test("is sent nothing, and the person is notified of what it is owed, once", () => {
    const outbox = owingOutbox();
    const [report, ...others] = outbox.take("PARENT_READ", { setAside: "reverted" });
    expect(report).toEqual({
      ...{ type: "reportSetAside", parentSessionID: "ses_parent", why: "reverted" },
      ends: [endOf("ses_1")],
    });
    expect(others).toEqual([]);
    expect(stateOf(outbox)).toBe("setAside");
    outbox.take("TICK");
    expect(outbox.take("PARENT_READ", { setAside: "reverted" })).toEqual([]);
  });

  test("is looked at again after pauses that double up to ten minutes, for events may be missed", () => {
    const outbox = setAside();
    const pauses: number[] = [];
    for (let look = 0; look < 8; look += 1) {
      const before = outbox.snapshot.context.nextDeadline ?? 0;
      expect(outbox.refuses("TICK", { at: before - 1 })).toBe(true);
      expect(typesOf(outbox.take("TICK"))).toEqual(["readParent"]);
      outbox.take("PARENT_READ", { setAside: "archived" });
      pauses.push((outbox.snapshot.context.nextDeadline ?? 0) - before);
    }
    expect(pauses).toEqual([30, 60, 120, 240, 480, 600, 600, 600].map((seconds) => seconds * 1_000));
    expect(LOOK_BACKOFF.first).toBe(15_000);
  });

  test("is read as soon as a person changes it or writes to it, and then sent what it is owed", () => {
    for (const outbox of [setAside(), setAside()]) expect(watchesParent(outbox.snapshot)).toBe(true);
    const [changed, written] = [setAside(), setAside()];
    expect(typesOf(changed.take("PARENT_CHANGED"))).toEqual(["readParent"]);
    expect(typesOf(written.take("PARENT_STORED", { messageID: "msg_person", createdAt: 10 }))).toEqual(["readParent"]);
    expect(changed.snapshot.context.nextDeadline).toBeUndefined();
    expect(typesOf(changed.take("PARENT_READ"))).toEqual(["composeNotice"]);
  });

  test("is not in use again for our own prompt, which is stored late", () => {
    const outbox = setAsideWithPrompt();
    outbox.take("PARENT_STORED", { createdAt: 10 });
    expect(stateOf(outbox)).toBe("setAside");
  });

  test("waits for nothing once it is owed nothing, unless a prompt is under way", () => {
    const outbox = setAside();
    outbox.take("WITHDRAW", { taskId: "ses_1", run: 0 });
    expect([isIdle(outbox.snapshot), outbox.snapshot.context.nextDeadline, outbox.snapshot.context.looks]).toEqual([
      true,
      undefined,
      0,
    ]);
    expect(stateOf(setAsideWithPrompt())).toBe("setAside");
  });

  test("is not reported to the person while nothing is owed beside the prompt under way", () => {
    const outbox = afterEvents(sentOutbox(), "TICK");
    outbox.take("CHECKED", { standing: "unanswered" });
    expect(outbox.take("PARENT_READ", { setAside: "archived" })).toEqual([]);
  });

  test("may be found missing, and gone", () => {
    const outbox = setAside();
    outbox.take("PARENT_NOT_FOUND");
    expect(stateOf(outbox)).toBe("unreachable.missing");
  });
});
