import { describe, expect, test } from "vitest";
import { isAtRest } from "../../../src/machines/task/machine.ts";
import { receipt } from "../../fakes/receipt.ts";
import { START } from "../../fakes/task-input.ts";
import { afterEvents, type DrivenTask, queuedTask } from "./driven-task.ts";

/** A task that returns the receipts that it wants written, and has run. */
const begun = (): DrivenTask => afterEvents(queuedTask({}, true), "SLOT_GRANTED", "PROMPT_ACCEPTED", "HOST_IDLE");
const ended = (): DrivenTask => afterEvents(begun(), "CHECKED_ANSWERED");
const incomplete = (): DrivenTask => afterEvents(ended(), "RECEIPT_INCOMPLETE");
/** Has the end of the run told, and the next one begun. */
const goOn = (task: DrivenTask): DrivenTask => afterEvents(task, "NOTICE_COMPOSED", "NOTICE_ACKNOWLEDGED", "RESUME");

const RUN = {
  taskId: "ses_child",
  run: 0,
  directory: "/project",
  startedAt: START,
  endedAt: START,
  gate: undefined,
};

test("each end asks for the receipt of its run", () => {
  expect(begun().take("CHECKED_ANSWERED")).toMatchObject([{ type: "writeReceipt", ...RUN }]);
  expect(begun().take("CHECKED_FAILED")).toMatchObject([{ type: "writeReceipt", ...RUN }]);
  expect(begun().take("SESSION_DELETED")).toMatchObject([{ type: "writeReceipt", ...RUN }]);
  expect(queuedTask({}, true).take("CANCEL")).toMatchObject([{ type: "writeReceipt", ...RUN }]);
});

test("a receipt is asked for the time at which the run ended, and with what its answer lacks, of that run alone", () => {
  const task = begun();
  const cut = { completedAt: START + 5, incomplete: "length" } as const;
  expect(task.take("CHECKED_ANSWERED", cut)).toMatchObject([{ endedAt: START + 5, incomplete: "length" }]);
  expect(task.take("RECEIPT_INCOMPLETE")).toMatchObject([{ endedAt: START + 5, incomplete: "length" }]);
  goOn(task);
  afterEvents(task, "SLOT_GRANTED", "PROMPT_ACCEPTED", "HOST_IDLE");
  expect(task.take("CHECKED_ANSWERED")).toMatchObject([{ run: 1, incomplete: undefined }]);
});

test("a receipt says how the gate's command ended, where the run did not end before it", () => {
  const gate = { command: "npm test", tries: 1, timeout: 60_000 };
  const atGate = () =>
    afterEvents(queuedTask({ gate }, true), "SLOT_GRANTED", "PROMPT_ACCEPTED", "HOST_IDLE", "CHECKED_ANSWERED");
  expect(atGate().take("GATE_ENDED", { gateRun: 1, end: { end: "exited", exit: 0, output: "" } })).toMatchObject([
    { type: "writeReceipt", gate: { command: "npm test", runs: 1, exit: 0, end: "exited" } },
  ]);
  expect(atGate().take("SESSION_DELETED")).toMatchObject([{ type: "writeReceipt", gate: undefined }]);
});

test("a receipt is kept until the next run begins, and one only", () => {
  const task = ended();
  const first = receipt({ tokens: 5 });
  task.take("RECEIPT_WRITTEN", { receipt: first });
  expect(task.refuses("RECEIPT_WRITTEN", { receipt: receipt() })).toBe(true);
  expect(task.snapshot.context.receipt).toEqual(first);
  goOn(task);
  expect(task.snapshot.context.receipt).toBeUndefined();
});

test("that of another run is refused, and one of a run under way", () => {
  expect(ended().refuses("RECEIPT_WRITTEN", { receipt: receipt({ run: 1 }) })).toBe(true);
  expect(begun().refuses("RECEIPT_WRITTEN", { receipt: receipt() })).toBe(true);
  expect(begun().refuses("RECEIPT_INCOMPLETE")).toBe(true);
});

describe("an incomplete receipt", () => {
  test("is asked of the host, and keeps the task from rest", () => {
    const task = ended();
    expect(task.take("RECEIPT_INCOMPLETE")).toMatchObject([{ type: "completeReceipt", ...RUN }]);
    afterEvents(task, "NOTICE_COMPOSED", "NOTICE_ACKNOWLEDGED");
    expect(isAtRest(task.snapshot)).toBe(false);
    task.take("RECEIPT_WRITTEN", { receipt: receipt() });
    expect(isAtRest(task.snapshot)).toBe(true);
  });

  test("is asked for again by the process that takes the task over, until it is there", () => {
    const task = incomplete();
    expect(task.take("ADOPTED")).toMatchObject([{ type: "completeReceipt" }]);
    task.take("RECEIPT_WRITTEN", { receipt: receipt() });
    expect(task.take("ADOPTED")).toEqual([]);
  });

  test("is none where the receipt is there already", () => {
    const task = ended();
    task.take("RECEIPT_WRITTEN", { receipt: receipt() });
    expect(task.refuses("RECEIPT_INCOMPLETE")).toBe(true);
  });

  test("of one run says nothing of the next", () => {
    const task = goOn(incomplete());
    expect(task.snapshot.context.isReceiptIncomplete).toBeUndefined();
  });
});
