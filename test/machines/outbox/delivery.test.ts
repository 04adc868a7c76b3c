import { describe, expect, test } from "vitest";
import { statePath } from "../../../src/machines/chart.ts";
import { isIdle, pendingPrompts, watchesParent } from "../../../src/machines/outbox/machine.ts";
import { OUTBOX_LIMITS } from "../../../src/machines/outbox/setup.ts";
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

/** How long the outbox pauses now, in milliseconds. */
const pauseOf = ({ snapshot: { context } }: DrivenOutbox, since: number): number => (context.nextDeadline ?? 0) - since;

const typesOf = (effects: { type: string }[]) => effects.map(({ type }) => type);

describe("an answer to a newer message than the prompt", () => {
  const NEWER = "msg_2";

  test("acknowledges the notice when it began after the prompt was stored", () => {
    const outbox = sentOutbox();
    outbox.take("PARENT_STORED", { createdAt: 10 });
    expect(typesOf(outbox.take("PARENT_ANSWERED", { promptID: NEWER, createdAt: 10 }))).toContain("noticeAcknowledged");
  });

  test("acknowledges nothing when it began before the prompt was stored", () => {
    const outbox = sentOutbox();
    outbox.take("PARENT_STORED", { createdAt: 10 });
    expect(outbox.refuses("PARENT_ANSWERED", { promptID: NEWER, createdAt: 9 })).toBe(true);
  });

  test("acknowledges nothing as long as it is not known when the prompt was stored", () => {
    expect(sentOutbox().refuses("PARENT_ANSWERED", { promptID: NEWER, createdAt: 10 })).toBe(true);
  });

  test("acknowledges nothing when another message than the prompt was stored before it began", () => {
    const outbox = sentOutbox();
    expect(outbox.refuses("PARENT_STORED", { messageID: NEWER, createdAt: 10 })).toBe(true);
  });

  test("is one to a newer message only by its id: to an older one it acknowledges nothing", () => {
    const outbox = sentOutbox();
    outbox.take("PARENT_STORED", { createdAt: 10 });
    expect(outbox.refuses("PARENT_ANSWERED", { promptID: "msg_0", createdAt: 11 })).toBe(true);
  });

  test("acknowledges the notice when only a check found that the prompt is stored", () => {
    const outbox = afterEvents(sentOutbox(), "TICK");
    outbox.take("CHECKED", { storedAt: 10 });
    expect(outbox.refuses("PARENT_ANSWERED", { promptID: NEWER, createdAt: 9 })).toBe(true);
    expect(typesOf(outbox.take("PARENT_ANSWERED", { promptID: NEWER, createdAt: 11 }))).toContain("noticeAcknowledged");
  });

  test("acknowledges nothing of the second notice when only the first one was stored before it began", () => {
    const outbox = sentOutbox();
    outbox.take("PARENT_STORED", { createdAt: 10 });
    outbox.take("NOTICE_DUE", { end: endOf("ses_2") });
    outbox.take("PARENT_ANSWERED", { promptID: "msg_1", createdAt: 11 });
    send(outbox, NEWER);
    expect(outbox.refuses("PARENT_ANSWERED", { promptID: "msg_3", createdAt: 12 })).toBe(true);
  });
});

test("what an agent wrote before a last message without text may be more than the parent's model has room for", () => {
  const outbox = emptyOutbox();
  const end = endOf("ses_1", 0, { result: "", earlierText: "twelve ".repeat(3_000) });
  expect(outbox.take("NOTICE_DUE", { end })).toMatchObject([{ type: "readParent", asksRoom: true }]);
});

describe("the pauses", () => {
  test("between failed reads of the parent double", () => {
    const outbox = owingOutbox();
    const pauses: number[] = [];
    for (let time = 0; time < 3; time += 1) {
      outbox.take("READ_FAILED", { at: START });
      pauses.push(pauseOf(outbox, START));
      outbox.take("TICK");
    }
    expect(pauses).toEqual([2_000, 4_000, 8_000]);
  });

  test("of failed reads do not lengthen those of the prompt that is sent after them", () => {
    const outbox = owingOutbox();
    for (let time = 0; time < 6; time += 1) {
      afterEvents(outbox, "READ_FAILED", "TICK");
    }
    const at = outbox.snapshot.context.nextDeadline ?? START;
    outbox.take("PARENT_READ", { at });
    outbox.take("COMPOSED", { prompt: promptOf("msg_1", "ses_1") });
    outbox.take("SENT");
    expect(pauseOf(outbox, at)).toBe(OUTBOX_LIMITS.firstCheck);
  });

  test("between checks of a prompt that the parent is about to take up double, up to the longest", () => {
    const outbox = sentOutbox();
    const pauses: number[] = [];
    let asked = START;
    for (let time = 0; time < 7; time += 1) {
      pauses.push(pauseOf(outbox, asked));
      asked = outbox.snapshot.context.nextDeadline ?? 0;
      outbox.take("TICK");
      outbox.take("CHECKED", { storedAt: 10 });
    }
    expect(pauses).toEqual([2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  });
});

test("a check that the host does not answer is no reason to send again: it is asked again", () => {
  const outbox = afterEvents(sentOutbox(), "TICK");
  expect(outbox.take("CHECK_FAILED")).toEqual([]);
  expect(statePath(outbox.snapshot.value.delivery)).toBe("delivering.awaiting");
  expect(outbox.take("TICK")).toMatchObject([{ type: "checkNotice", messageID: "msg_1" }]);
});

test("after a failed turn of the parent nothing is sent until its last idle is `OUTBOX_LIMITS.coolDown` ago", () => {
  const outbox = afterEvents(emptyOutbox(), "PARENT_ERROR");
  outbox.take("PARENT_IDLE", { at: START + 400 });
  outbox.take("NOTICE_DUE", { end: endOf("ses_1") });
  expect(outbox.refuses("TICK", { at: START + 400 + OUTBOX_LIMITS.coolDown - 1 })).toBe(true);
  expect(outbox.take("TICK", { at: START + 400 + OUTBOX_LIMITS.coolDown })).toMatchObject([{ type: "readParent" }]);
});

test("the end of one run is withdrawn without that of another run of the same task", () => {
  const outbox = afterEvents(emptyOutbox(), "PARENT_ERROR");
  for (const run of [0, 1]) outbox.take("NOTICE_DUE", { end: endOf("ses_1", run) });
  outbox.take("WITHDRAW", { taskId: "ses_1", run: 1 });
  expect(outbox.snapshot.context.queue).toEqual([endOf("ses_1", 0)]);
});

describe("prompts of a process that is gone", () => {
  const adopting = () => {
    const outbox = emptyOutbox();
    outbox.take("ADOPTED", { prompts: ["1", "2", "3"].map((n) => promptOf(`msg_${n}`, `ses_${n}`)) });
    return outbox;
  };

  test("carry ends that are not owed once more, whichever prompt they are in", () => {
    for (const taskId of ["ses_1", "ses_2", "ses_3"]) {
      expect(adopting().refuses("NOTICE_DUE", { end: endOf(taskId) }), taskId).toBe(true);
    }
    expect(adopting().refuses("NOTICE_DUE", { end: endOf("ses_4") })).toBe(false);
  });

  test("carry ends of some runs: the end of another run of the same task is owed", () => {
    expect(adopting().refuses("NOTICE_DUE", { end: endOf("ses_1", 1) })).toBe(false);
  });

  test("are pending as well as the one that is under way, which is none of theirs any more once it is answered", () => {
    const outbox = adopting();
    const pending = () => pendingPrompts(outbox.snapshot).map(({ messageID }) => messageID);
    expect(pending()).toEqual(["msg_1", "msg_2", "msg_3"]);
    outbox.take("CHECKED", { standing: "answered" });
    expect(pending()).toEqual(["msg_2", "msg_3"]);
    expect(pendingPrompts(emptyOutbox().snapshot)).toEqual([]);
  });

  test("are all dropped with the parent, and their tasks notified", () => {
    const outbox = adopting();
    outbox.take("NOTICE_DUE", { end: endOf("ses_4") });
    const runs = ["ses_1", "ses_2", "ses_3", "ses_4"].map((taskId) => ({ taskId, run: 0 }));
    expect(outbox.take("PARENT_CLOSED")).toEqual([{ type: "noticeDropped", parentSessionID: "ses_parent", runs }]);
  });
});

test("an end that comes while the prompt is formed is still owed, and goes into the next one", () => {
  const outbox = owingOutbox();
  outbox.take("PARENT_READ");
  outbox.take("NOTICE_DUE", { end: endOf("ses_2") });
  outbox.take("COMPOSED", { prompt: promptOf("msg_1", "ses_1") });
  expect(outbox.snapshot.context.queue).toEqual([endOf("ses_2")]);
});

test("a prompt that is sent again goes out under the agent that the parent works with then", () => {
  const outbox = afterEvents(sentOutbox(), "TICK");
  outbox.take("CHECKED", { standing: "unanswered" });
  const sender = { agent: "plan", model: undefined };
  expect(outbox.take("PARENT_READ", { sender })).toMatchObject([
    { type: "sendNotice", prompt: { messageID: "msg_1" }, sender },
  ]);
});

test("an outbox whose parent is gone has nothing to deliver", () => {
  const outbox = sentOutbox();
  expect(isIdle(outbox.snapshot)).toBe(false);
  outbox.take("PARENT_CLOSED");
  expect(isIdle(outbox.snapshot)).toBe(true);
});

test("an outbox whose parent is gone waits for nothing, and for no failed turn once the parent is back", () => {
  const outbox = afterEvents(emptyOutbox(), "PARENT_ERROR", "PARENT_CLOSED");
  expect(outbox.snapshot.context).toMatchObject({ nextDeadline: undefined, parentReadyAt: undefined });
  outbox.take("PARENT_PRESENT");
  expect(outbox.take("NOTICE_DUE", { end: endOf("ses_2") })).toMatchObject([{ type: "readParent" }]);
});

test("a parent that launches a task is there, whatever closed its outbox: it is notified of the end", () => {
  const outbox = afterEvents(sentOutbox(), "PARENT_CLOSED", "PARENT_PRESENT");
  expect(outbox.take("NOTICE_DUE", { end: endOf("ses_2") })).toMatchObject([{ type: "readParent" }]);
});

describe("runs that end while the parent is read", () => {
  /** Has one more run end, and the parent read while others are at work or not. */
  const endAndRead = (outbox: DrivenOutbox, taskId: string, othersRun: boolean) => {
    outbox.take("NOTICE_DUE", { end: endOf(taskId) });
    return typesOf(outbox.take("PARENT_READ", { othersRun }));
  };

  const readingOutbox = () => {
    const outbox = emptyOutbox();
    outbox.take("NOTICE_DUE", { end: endOf("ses_0") });
    return outbox;
  };

  test("have it read again, five times at most: the next run may be about to end", () => {
    const outbox = readingOutbox();
    const requested = Array.from({ length: 6 }, (_, index) => endAndRead(outbox, `ses_${index + 1}`, true));
    expect(requested).toEqual([...Array(5).fill(["readParent"]), ["composeNotice"]]);
  });

  test("have it read as often again for the next notice", () => {
    const outbox = readingOutbox();
    endAndRead(outbox, "ses_1", true);
    send(outbox, "msg_1");
    outbox.take("NOTICE_DUE", { end: endOf("ses_2") });
    outbox.take("PARENT_ANSWERED", { promptID: "msg_1", createdAt: START });
    const requested = Array.from({ length: 6 }, (_, index) => endAndRead(outbox, `ses_${index + 3}`, true));
    expect(requested).toEqual([...Array(5).fill(["readParent"]), ["composeNotice"]]);
  });

  test("wait for no other when none is at work", () => {
    expect(endAndRead(readingOutbox(), "ses_1", false)).toEqual(["composeNotice"]);
  });

  test("wait for no other when none has ended since the parent was read", () => {
    const outbox = readingOutbox();
    expect(typesOf(outbox.take("PARENT_READ", { othersRun: true }))).toEqual(["composeNotice"]);
  });
});

describe("a prompt", () => {
  const TOAST = { message: "a task ended", variant: "info" } as const;

  const composed = () => {
    const outbox = owingOutbox();
    outbox.take("PARENT_READ");
    const effects = outbox.take("COMPOSED", { prompt: { ...promptOf("msg_1", "ses_1"), toasts: [TOAST] } });
    return { outbox, effects };
  };

  test("is announced to its tasks when it is composed, and sent at once", () => {
    expect(composed().effects).toMatchObject([
      { type: "noticeComposed", parentSessionID: "ses_parent", runs: [{ taskId: "ses_1", run: 0 }] },
      { type: "sendNotice", prompt: { messageID: "msg_1" } },
    ]);
  });

  test("that could not be composed is composed anew after a pause", () => {
    const outbox = owingOutbox();
    outbox.take("PARENT_READ");
    expect(outbox.take("COMPOSE_FAILED")).toEqual([]);
    expect(pauseOf(outbox, START)).toBe(OUTBOX_LIMITS.firstCheck);
    expect(outbox.refuses("TICK", { at: START + OUTBOX_LIMITS.firstCheck - 1 })).toBe(true);
    expect(typesOf(outbox.take("TICK"))).toEqual(["readParent"]);
  });

  test("is shown to the person when the host has it, and once", () => {
    const { outbox } = composed();
    expect(outbox.take("SENT")).toEqual([{ type: "showToasts", parentSessionID: "ses_parent", toasts: [TOAST] }]);
    outbox.take("TICK");
    outbox.take("CHECKED", { standing: "unanswered" });
    outbox.take("PARENT_READ");
    expect(outbox.take("SENT")).toEqual([]);
  });

  test("is shown to the person when it is answered before the host says that it has it", () => {
    const { outbox } = composed();
    const effects = outbox.take("PARENT_ANSWERED", { promptID: "msg_1", createdAt: START });
    expect(typesOf(effects)).toEqual(["showToasts", "noticeAcknowledged"]);
  });

  test("has nothing shown when nothing is to be shown", () => {
    expect(sentOutbox().snapshot.context.prompt).toEqual(promptOf("msg_1", "ses_1"));
    const outbox = owingOutbox();
    outbox.take("PARENT_READ");
    outbox.take("COMPOSED", { prompt: promptOf("msg_1", "ses_1") });
    expect(outbox.take("SENT")).toEqual([]);
  });

  test("is asked about half a second after the parent became idle, for it should have begun to answer", () => {
    const outbox = sentOutbox();
    outbox.take("PARENT_IDLE", { at: START + 100 });
    expect(outbox.refuses("TICK", { at: START + 100 + OUTBOX_LIMITS.coolDown - 1 })).toBe(true);
    expect(outbox.take("TICK", { at: START + 100 + OUTBOX_LIMITS.coolDown })).toMatchObject([{ type: "checkNotice" }]);
  });

  test("is asked about when its time has come, not before", () => {
    expect(sentOutbox().refuses("TICK", { at: START + OUTBOX_LIMITS.firstCheck - 1 })).toBe(true);
  });

  test("that is found answered is acknowledged, and the outbox waits for nothing", () => {
    const outbox = afterEvents(sentOutbox(), "TICK");
    expect(typesOf(outbox.take("CHECKED", { standing: "answered" }))).toEqual(["noticeAcknowledged"]);
    expect(isIdle(outbox.snapshot)).toBe(true);
    expect(outbox.snapshot.context.nextDeadline).toBeUndefined();
  });
});

describe("a parent whose turn has failed", () => {
  test("is sent nothing, though it was read before", () => {
    const outbox = owingOutbox();
    outbox.take("PARENT_ERROR");
    expect(outbox.take("PARENT_READ")).toEqual([]);
    expect(typesOf(outbox.take("TICK", { at: START + OUTBOX_LIMITS.coolDown }))).toEqual(["readParent"]);
  });

  test("is waited for anew when it fails again", () => {
    const outbox = afterEvents(emptyOutbox(), "PARENT_ERROR");
    outbox.take("PARENT_ERROR", { at: START + 300 });
    expect(outbox.refuses("TICK", { at: START + 300 + OUTBOX_LIMITS.coolDown - 1 })).toBe(true);
  });

  test("can be sent a prompt as soon as it works again", () => {
    const outbox = afterEvents(emptyOutbox(), "PARENT_ERROR");
    outbox.take("NOTICE_DUE", { end: endOf("ses_1") });
    expect(typesOf(outbox.take("PARENT_BUSY"))).toEqual(["readParent"]);
    expect(outbox.refuses("TICK", { at: START + OUTBOX_LIMITS.coolDown })).toBe(true);
  });
});

test("what the parent does matters while a prompt is under way, and while its turn has just failed", () => {
  const outbox = emptyOutbox();
  expect(watchesParent(outbox.snapshot)).toBe(false);
  outbox.take("PARENT_ERROR");
  expect(watchesParent(outbox.snapshot)).toBe(true);
  outbox.take("PARENT_BUSY");
  expect(watchesParent(outbox.snapshot)).toBe(false);
  expect(watchesParent(sentOutbox().snapshot)).toBe(true);
});

test("a closed outbox drops what it is given, whether ends or prompts of a process that is gone", () => {
  const outbox = afterEvents(emptyOutbox(), "PARENT_CLOSED");
  expect(outbox.take("NOTICE_DUE", { end: endOf("ses_1") })).toEqual([
    { type: "noticeDropped", parentSessionID: "ses_parent", runs: [{ taskId: "ses_1", run: 0 }] },
  ]);
  expect(outbox.take("ADOPTED", { prompts: [promptOf("msg_9", "ses_9")] })).toEqual([
    { type: "noticeDropped", parentSessionID: "ses_parent", runs: [{ taskId: "ses_9", run: 0 }] },
  ]);
});

test("an outbox that is closed while it owes nothing tells nobody of it", () => {
  expect(emptyOutbox().take("PARENT_CLOSED")).toEqual([]);
});
