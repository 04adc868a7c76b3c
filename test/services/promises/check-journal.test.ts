import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { checkJournal, JOURNAL_PROMISES } from "../../../src/services/promises/check-journal.ts";
import type { RecordedJournal } from "../../../src/services/promises/exported-journal.ts";
import {
  type Around,
  AT_WORK,
  answer,
  answered,
  asked,
  call,
  cancelledResume,
  check,
  claim,
  DONE,
  gateEnd,
  journalOf,
  misfit,
  model,
  NOTICE,
  RUNNING,
  receipt,
  resume,
  retry,
  seen,
  steer,
  stored,
  toGoOn,
  type Written,
} from "./written-journal.ts";

/** What a journal breaks: the names of promises, each with the numbers of its events and what is wrong there. */
const brokenIn = (journal: RecordedJournal): Record<string, string[]> =>
  Object.fromEntries(
    (checkJournal(journal) ?? []).flatMap(({ name, breaches }) =>
      breaches.length === 0
        ? []
        : [[name, breaches.map(({ event, what }) => (event === undefined ? what : `${event} ${what}`))]],
    ),
  );

const GATED = { facts: { gate: { tries: 1 } } };
const AGAIN: Around = { value: { lifecycle: "resumed", run: "queued" } };
const GATED_BEFORE = { facts: { gate: { tries: 1, before: true } } };
const before: Written = { type: "GATE_ENDED_BEFORE", end: { exit: 1, end: "exited" } };
const FOR_FLEET = { facts: { fleet: {} } };
const LIMIT = { name: "BudgetExceeded", kind: "budget", message: "It used more than $1." };
const beyond: Written = { type: "LIMIT_EXCEEDED", error: LIMIT };
const ended = (lifecycle: string, context: Around["context"] = {}): Around => ({
  value: { lifecycle },
  context: { result: undefined, ...context },
});
const times = (count: number, step: (index: number) => readonly Written[]): Written[] =>
  Array.from({ length: count }, (_, index) => step(index)).flat();
/** The number of the check in turn `index`, from 1. */
const n = (index: number): number => index + 1;
const refused = (retryable: boolean): Written => ({ type: "PROMPT_REFUSED", retryable });

describe("a journal keeps all promises", () => {
  test.each<[string, readonly Written[], Around?]>([
    ["of a task that waits for a slot", [], RUNNING],
    ["of a task that is answered and delivered by a notice", DONE],
    ["of one whose end is owed", DONE.slice(0, 5), { value: { notice: "due" } }],
    ["of one whose notice is on its way", DONE.slice(0, 6), { value: { notice: "sending" } }],
    [
      "of one that a call waited for",
      [...AT_WORK, call("WAIT_BEGAN"), "HOST_IDLE", answer(1), receipt(0), call("WAIT_DELIVERED")],
    ],
    [
      "of one whose caller was aborted, so that a notice delivers it",
      [...AT_WORK, call("WAIT_BEGAN"), answer(1), receipt(0), call("WAIT_ABANDONED"), ...NOTICE],
    ],
    [
      "of a notice that a call has withdrawn before it was written",
      [...AT_WORK, answer(1), receipt(0), call("WAIT_BEGAN"), call("WAIT_DELIVERED")],
    ],
    [
      "of a notice that was lost with its process and is written again",
      [...DONE.slice(0, 6), { type: "ADOPTED", isNoticePending: false }, ...NOTICE],
    ],
    [
      "of a result that is read by a call while its notice is on its way",
      [...DONE.slice(0, 6), call("WAIT_BEGAN"), call("WAIT_DELIVERED"), "NOTICE_ACKNOWLEDGED"],
    ],
    [
      "of a call whose time was up before the end",
      [...AT_WORK, call("WAIT_BEGAN"), call("WAIT_DELIVERED"), answer(1), receipt(0), ...NOTICE],
    ],
    ["of a task that is resumed", [...DONE, resume(1), ...AT_WORK, answer(2), receipt(1), ...NOTICE]],
    [
      "of one that is paused and goes on",
      [...AT_WORK.slice(0, 2), "PAUSE", "STOPPED", check("CHECKED_ABORTED", 1), "CONTINUE", "SLOT_GRANTED"],
      { value: { lifecycle: "running", run: { pausing: "continuing" } } },
    ],
    [
      "of one that is cancelled while it is paused: there is nothing to stop",
      [...AT_WORK.slice(0, 2), "PAUSE", "STOPPED", check("CHECKED_ABORTED", 1), "CANCEL", receipt(0), ...NOTICE],
      { value: { lifecycle: "cancelled" }, context: { result: undefined } },
    ],
    [
      "of one that was cut off twice, and then by a pause",
      [
        ...AT_WORK,
        ...times(2, (index) => ["ADOPTED", check("CHECKED_UNANSWERED", n(index)), "PROMPT_ACCEPTED", "HOST_BUSY"]),
        ...["ADOPTED", "PAUSE", "STOPPED", check("CHECKED_UNANSWERED", 9)],
      ],
      { value: { lifecycle: "running", run: { pausing: "paused" } } },
    ],
    [
      "of one of which the host does not say what became of it while it is paused",
      [
        ...[...AT_WORK, "PAUSE", "STOPPED"],
        ...times(12, (index) => [check("CHECK_FAILED", n(index))]),
        ...["CONTINUE", "SLOT_GRANTED"],
      ],
      { value: { lifecycle: "running", run: { pausing: "continuing" } } },
    ],
    ["of one that is resumed and waits", [...DONE, resume(1)], AGAIN],
    [
      "of one that is to go on when its end is delivered",
      [...DONE.slice(0, 5), toGoOn(1)],
      { value: { notice: "due", nextRun: "waiting" } },
    ],
    ["of one that went on after that", [...DONE.slice(0, 5), toGoOn(1), ...NOTICE, resume(1)], AGAIN],
    [
      "of one whose next run was cancelled before it could begin",
      [...DONE.slice(0, 5), toGoOn(1), "CANCEL", ...NOTICE, cancelledResume(1), receipt(1)],
      { value: { lifecycle: "cancelled", notice: "due" }, context: { result: undefined } },
    ],
    [
      "of a task that fails, and is retried",
      [
        ...AT_WORK,
        check("CHECKED_FAILED", 1),
        receipt(0),
        ...NOTICE,
        retry(1),
        ...AT_WORK,
        answer(2),
        receipt(1),
        ...NOTICE,
      ],
    ],
    [
      "of one that is cancelled and retried, and then beyond a limit",
      [
        ...[...AT_WORK, "CANCEL", "STOPPED", receipt(0), ...NOTICE, retry(1)],
        ...[...AT_WORK, beyond, "STOPPED", receipt(1), ...NOTICE],
      ],
      ended("error", { error: LIMIT }),
    ],
    [
      "of one that was beyond a limit, and is retried",
      [...AT_WORK, beyond, "STOPPED", receipt(0), ...NOTICE, retry(1)],
      AGAIN,
    ],
    [
      "of an answer that does not fit once more, and of its retry",
      [...AT_WORK, answer(1, misfit(1)), receipt(0), ...NOTICE, retry(1)],
      AGAIN,
    ],
    [
      "of an instruction that reaches the child before its answer counts",
      [
        ...[...AT_WORK, steer(1), answer(1), stored(1), check("CHECKED_BUSY", 2), seen(1), answer(3)],
        ...[receipt(0), ...NOTICE],
      ],
    ],
    [
      "of an answer that its gate refuses once",
      [...AT_WORK, answer(1), gateEnd(1, 1), "PROMPT_ACCEPTED", answer(2), gateEnd(2, 0), receipt(0), ...NOTICE],
      GATED,
    ],
    [
      "of a task whose gate is run before its agent begins, too",
      ["SLOT_GRANTED", before, "PROMPT_ACCEPTED", answer(1), gateEnd(1, 0), receipt(0), ...NOTICE],
      GATED_BEFORE,
    ],
    [
      "of one in which OpenCode ended three times meanwhile, and that is cut off twice after that",
      [
        ...["SLOT_GRANTED", "ADOPTED", "ADOPTED", "ADOPTED", "PROMPT_ACCEPTED", "ADOPTED"],
        ...[check("CHECKED_UNANSWERED", 1), "ADOPTED", check("CHECKED_UNANSWERED", 2)],
        ...[answer(3), gateEnd(1, 0), receipt(0), ...NOTICE],
      ],
      GATED_BEFORE,
    ],
    [
      "of one that is cancelled meanwhile",
      ["SLOT_GRANTED", "ADOPTED", "CANCEL", receipt(0), ...NOTICE],
      { ...ended("cancelled"), ...GATED_BEFORE },
    ],
    [
      "of an answer that does not fit at first",
      [...AT_WORK, answer(1, misfit(1)), "PROMPT_ACCEPTED", answer(2), receipt(0), ...NOTICE],
    ],
    ["of a task that is cancelled in the queue", ["CANCEL", receipt(0), ...NOTICE], ended("cancelled")],
    [
      "of one that is cancelled while its prompt is on its way",
      ["SLOT_GRANTED", "CANCEL", "PROMPT_ACCEPTED", "NOT_STOPPED", "TICK", "STOPPED", receipt(0), ...NOTICE],
      ended("cancelled"),
    ],
    [
      "of one that a person aborted",
      [...AT_WORK, check("CHECKED_ABORTED", 1), "TICK", receipt(0), ...NOTICE],
      ended("cancelled"),
    ],
    [
      "of one that is beyond a limit",
      [...AT_WORK, beyond, "STOPPED", receipt(0), ...NOTICE],
      ended("error", { error: LIMIT }),
    ],
    [
      "of one that goes on with another model",
      [...AT_WORK, check("CHECKED_FAILED", 1), model("m2"), "TICK", ...AT_WORK, answer(2), receipt(0), ...NOTICE],
    ],
    [
      "of requests that are answered, and of one that was lost with its process and asked again",
      [
        ...AT_WORK,
        asked("per_1"),
        answered("per_1"),
        asked("per_2"),
        "ADOPTED",
        check("CHECKED_BUSY", 1),
        asked("per_2"),
      ],
      { ...RUNNING, context: { userRequests: [{ id: "per_2" }] } },
    ],
    [
      "of a run on another server",
      [
        "JOB_ENQUEUED",
        claim("REMOTE_CLAIMED", 3),
        claim("REMOTE_ENDED", 3, { outcome: "completed", result: "12", receipt: { run: 0 } }),
        ...NOTICE,
      ],
      { ...FOR_FLEET, context: { result: "12" } },
    ],
    [
      "of a run that is taken back from another server",
      ["JOB_ENQUEUED", claim("REMOTE_CLAIMED", 3), "CLOSED", ...AT_WORK, answer(1), receipt(0), ...NOTICE],
      FOR_FLEET,
    ],
    [
      "of a process that ended while the run waited for a slot",
      [
        "ADOPTED",
        ...AT_WORK,
        ...times(3, (index) => [check("CHECKED_UNANSWERED", n(index)), "TICK", "PROMPT_ACCEPTED"]),
      ],
      RUNNING,
    ],
  ])("%s", (_, written, around) => {
    expect(brokenIn(journalOf(written, around))).toEqual({});
  });
});

/** Of each promise, journals that break it, and what is said of them. Other promises may be broken as well. */
const BREAKING: Record<string, [says: string, written: readonly Written[], around?: Around][]> = {
  "time-goes-on": [
    [
      "3 is 1s older than what came before it",
      [...AT_WORK, { type: "HOST_IDLE", at: Date.UTC(2026, 0, 1, 0, 0, 1) }],
      RUNNING,
    ],
    [
      "1 is 1s older than what came before it",
      [{ type: "SLOT_GRANTED", at: Date.UTC(2025, 11, 31, 23, 59, 59) }],
      RUNNING,
    ],
  ],
  "ids-once": [
    [
      "4 brings msg_s1, which event 3 has used",
      [...AT_WORK, steer(1), { type: "STEER", messageID: "msg_s1", partID: "prt_x" }],
      RUNNING,
    ],
    ["8 brings msg_0, which the launch has used", [...DONE, { type: "RESUME", messageID: "msg_0", partID: "prt_1" }]],
    ["3 brings a message without an id", [...AT_WORK, { type: "STEER", messageID: "msg_s1" }], RUNNING],
  ],
  "slot-first": [
    ["1 is of a run at work, and run 0 has no slot", [answer(1)]],
    ["3 gives run 0 a slot that it has", [...AT_WORK, "SLOT_GRANTED"], RUNNING],
    ["9 is of a run at work, and run 1 has no slot", [...DONE, resume(1), answer(2)]],
  ],
  "sending-answered-once": [
    ["3 answers a sending that event 2 (PROMPT_ACCEPTED) had answered", [...AT_WORK, "PROMPT_ACCEPTED"], RUNNING],
  ],
  "checks-in-order": [
    ["4 answers check 2 after check 2", [...AT_WORK, check("CHECKED_BUSY", 2), answer(2)]],
    ["3 answers check 2, which nobody asked", [...AT_WORK, answer(2)], { context: { checkId: 1 } }],
  ],
  "gates-in-order": [
    ["4 is of a gate, and the task has none", [...AT_WORK, answer(1), gateEnd(1, 0)]],
    [
      "5 ends gate 1, and there is no answer that it was run for",
      [...AT_WORK, answer(1), gateEnd(1, 1), gateEnd(1, 0)],
      GATED,
    ],
  ],
  "gate-before-first": [
    [
      "2 ends a command that is not to be run before the agent begins, or has ended",
      ["SLOT_GRANTED", before, "PROMPT_ACCEPTED"],
      { ...RUNNING, ...GATED },
    ],
    [
      "3 ends a command that is not to be run before the agent begins, or has ended",
      ["SLOT_GRANTED", before, before, "PROMPT_ACCEPTED"],
      { ...RUNNING, ...GATED_BEFORE },
    ],
    [
      "5 ends a command that is not to be run before the agent begins, or has ended",
      ["SLOT_GRANTED", "ADOPTED", "ADOPTED", "ADOPTED", before],
      { ...RUNNING, ...GATED_BEFORE },
    ],
    [
      "2 is of a prompt, and the command has not ended that is run before",
      ["SLOT_GRANTED", "PROMPT_ACCEPTED"],
      { ...RUNNING, ...GATED_BEFORE },
    ],
    [
      "4 is of a prompt, and the command has not ended that is run before",
      ["SLOT_GRANTED", "ADOPTED", "ADOPTED", check("CHECKED_UNANSWERED", 1)],
      { ...RUNNING, ...GATED_BEFORE },
    ],
  ],
  "models-once": [
    [
      "6 has run 0 go on with fake/m2, as event 3 did",
      [...AT_WORK, model("m2"), "TICK", ...AT_WORK.slice(0, 1), model("m2")],
      RUNNING,
    ],
  ],
  "instructions-in-order": [
    ["3 is about msg_s1, which is no instruction that waits", [...AT_WORK, stored(1)], RUNNING],
    ["5 is about msg_s2, and msg_s1 was given before it", [...AT_WORK, steer(1), steer(2), stored(2)], RUNNING],
    ["5 is about msg_s1, which is no instruction that waits", [...AT_WORK, steer(1), stored(1), stored(1)], RUNNING],
  ],
  "instructions-seen": [
    ["3 is about msg_s1, which run 0 has no need to see", [...AT_WORK, seen(1)], RUNNING],
    ["6 is about msg_s1, which run 0 has no need to see", [...AT_WORK, steer(1), steer(2), seen(2), seen(1)], RUNNING],
    ["5 answers run 0, which has not seen msg_s1", [...AT_WORK, steer(1), stored(1), answer(1), receipt(0), ...NOTICE]],
  ],
  "requests-answered-once": [
    [
      "5 answers per_1, which run 0 does not ask",
      [...AT_WORK, asked("per_1"), answered("per_1"), answered("per_1")],
      RUNNING,
    ],
    ["4 asks per_1, which event 3 had asked", [...AT_WORK, asked("per_1"), asked("per_1")], RUNNING],
    ['open are "per_1", and stored are ""', [...AT_WORK, asked("per_1")], RUNNING],
    ['open are "", and stored are "per_1"', DONE, { context: { userRequests: [{ id: "per_1" }] } }],
  ],
  "ended-stays": [
    ["6 is of run 0, which event 4 (CHECKED_ANSWERED) had ended", [...DONE.slice(0, 5), "HOST_BUSY"]],
    ["5 is of run 0, which event 4 (STOPPED) had ended", [...AT_WORK, "CANCEL", "STOPPED", "TICK"], ended("cancelled")],
  ],
  "stopping-begins-nothing": [
    ["4 goes on with a run that is being stopped since event 3 (CANCEL)", [...AT_WORK, "CANCEL", answer(1)]],
    [
      "4 goes on with a run that is being stopped since event 3 (LIMIT_EXCEEDED)",
      [...AT_WORK, beyond, model("m2")],
      RUNNING,
    ],
    ["2 goes on with a run that is being stopped since event 1 (CANCEL)", ["CANCEL", "SLOT_GRANTED"], RUNNING],
  ],
  "stop-confirmed": [
    ["3 stops run 0, which nobody had asked for", [...AT_WORK, "STOPPED", receipt(0), ...NOTICE], ended("cancelled")],
    [
      "4 ends run 0, which event 3 stops, before its session has stopped",
      [...AT_WORK, "CANCEL", "TICK", receipt(0), ...NOTICE],
      ended("cancelled"),
    ],
    [
      "3 ends run 0, which event 3 stops, before its session has stopped",
      [...AT_WORK, beyond, receipt(0), ...NOTICE],
      ended("error", { error: LIMIT }),
    ],
    [
      "9 ends run 0, which event 8 stops, before its session has stopped",
      [
        ...[...AT_WORK.slice(0, 2), "PAUSE", "STOPPED", check("CHECKED_ABORTED", 1), "CONTINUE", "SLOT_GRANTED"],
        ...["CANCEL", "TICK", receipt(0), ...NOTICE],
      ],
      ended("cancelled"),
    ],
  ],
  "completed-by-answer": [
    ["3 completes run 0 without an answer", [...AT_WORK, "HOST_IDLE", receipt(0), ...NOTICE]],
    ["3 completes a run without its gate", [...AT_WORK, answer(1), receipt(0), ...NOTICE], GATED],
    ["4 completes a run whose gate failed", [...AT_WORK, answer(1), gateEnd(1, 2), receipt(0), ...NOTICE], GATED],
    [
      "3 completes a run with an answer that does not fit its schema",
      [...AT_WORK, answer(1, misfit(1)), receipt(0), ...NOTICE],
    ],
    ["1 completes run 0 without an answer", [...AT_WORK, resume(1)], { value: { lifecycle: "resumed" } }],
    ["run 0 is completed, and nothing ended it", []],
  ],
  "answered-is-not-retried": [
    ["4 answers run 0, which is retried", [...DONE, retry(1)], AGAIN],
    [
      "4 answers run 0, which is retried",
      [...AT_WORK, answer(1), gateEnd(1, 0), receipt(0), ...NOTICE, retry(1)],
      { ...GATED, value: { lifecycle: "resumed", run: "queued" } },
    ],
  ],
  "result-is-answer": [
    ["the result is another than the answer of event 4", DONE, { context: { result: "There are 13." } }],
  ],
  "cancel-holds": [
    ["4 ends run 0 as error, which event 3 cancelled", [...AT_WORK, "CANCEL", "STOPPED"], ended("error")],
    ["4 ends run 0 as completed, which event 3 cancelled", [...AT_WORK, "CANCEL", answer(1)]],
  ],
  "cancelled-by-somebody": [
    ["run 0 is cancelled, and nobody did that", [...AT_WORK, "STOPPED", receipt(0), ...NOTICE], ended("cancelled")],
  ],
  "limit-ends": [
    [
      "4 ends run 0 as cancelled, which event 3 had stopped at a limit",
      [...AT_WORK, beyond, "STOPPED"],
      ended("cancelled"),
    ],
    [
      "the error is another than the limit of event 3: OpenCode was away.",
      [...AT_WORK, beyond, "STOPPED"],
      ended("error", { error: { name: "Host", kind: "host", message: "OpenCode was away." } }),
    ],
  ],
  "one-receipt": [
    ["6 writes a second receipt of run 0: event 5 has it", [...DONE.slice(0, 5), receipt(0)]],
    ["5 writes the receipt of run 1 in run 0", [...DONE.slice(0, 4), receipt(1)]],
    ["run 0 has no receipt, and one is stored", DONE.slice(0, 4), { context: { receipt: { run: 0 } } }],
    ["run 0 has a receipt, and none is stored", DONE, { context: { receipt: undefined } }],
  ],
  "sends-bounded": [
    [
      "14 shows that the prompt was sent 7 times in vain, and run 0 went on",
      ["SLOT_GRANTED", ...times(7, () => [refused(true), "TICK"]), "PROMPT_ACCEPTED"],
      RUNNING,
    ],
    [
      "2 refuses the prompt for good, and run 0 went on",
      ["SLOT_GRANTED", refused(false), "TICK", "PROMPT_ACCEPTED"],
      RUNNING,
    ],
  ],
  "checks-bounded": [
    [
      "25 is the 12. check in a row without an answer, and run 0 went on",
      [...AT_WORK, ...times(12, (index) => [check("CHECK_FAILED", n(index)), "TICK"])],
      RUNNING,
    ],
  ],
  "stops-bounded": [
    [
      "22 shows that the session was asked to stop 10 times in vain, and run 0 went on",
      [...AT_WORK, "CANCEL", ...times(10, () => ["NOT_STOPPED", "TICK"])],
      RUNNING,
    ],
  ],
  "interruptions-bounded": [
    [
      "12 is the 3. interruption in a row, and run 0 went on",
      [
        ...AT_WORK,
        ...times(3, (index) => [
          "ADOPTED",
          check("CHECKED_UNANSWERED", n(index), { lastStepAt: 5 }),
          "PROMPT_ACCEPTED",
          "HOST_BUSY",
        ]),
      ],
      RUNNING,
    ],
  ],
  "answer-ends": [
    [
      "3 is the answer of the run, and run 0 went on",
      [...AT_WORK, answer(1), "HOST_BUSY", check("CHECKED_BUSY", 2)],
      RUNNING,
    ],
  ],
  "repairs-bounded": [
    [
      "5 is the 2. answer in a row that does not fit, and run 0 went on",
      [...AT_WORK, answer(1, misfit(1)), "PROMPT_ACCEPTED", answer(2, misfit(2)), "PROMPT_ACCEPTED"],
      RUNNING,
    ],
  ],
  "gate-bounded": [
    [
      "4 shows that the answer passed its gate, and run 0 went on",
      [...AT_WORK, answer(1), gateEnd(1, 0), "PROMPT_ACCEPTED", "HOST_IDLE"],
      { ...RUNNING, ...GATED },
    ],
    [
      "4 shows that the gate cannot be run, and run 0 went on",
      [...AT_WORK, answer(1), gateEnd(1, 1, "notRun"), "PROMPT_ACCEPTED", "HOST_IDLE"],
      { ...RUNNING, ...GATED },
    ],
    [
      "7 is failure 2 of the gate, and run 0 went on",
      [
        ...AT_WORK,
        answer(1),
        gateEnd(1, 1),
        "PROMPT_ACCEPTED",
        answer(2),
        gateEnd(2, 1),
        "PROMPT_ACCEPTED",
        "HOST_IDLE",
      ],
      { ...RUNNING, ...GATED },
    ],
  ],
  "paused-does-nothing": [
    [
      "5 goes on with a run that is paused since event 3",
      [...AT_WORK.slice(0, 2), "PAUSE", "STOPPED", "SLOT_GRANTED"],
      RUNNING,
    ],
    ["3 has a run go on that is not paused", [...AT_WORK.slice(0, 2), "CONTINUE"], RUNNING],
  ],
  "asked-begins": [
    ["9 begins another run than event 6 asks for", [...DONE.slice(0, 5), toGoOn(1), ...NOTICE, resume(2)], AGAIN],
    ["7 asks for a run that was asked for already", [...DONE.slice(0, 5), toGoOn(1), toGoOn(2)]],
    ["the run that event 6 asks for is stored as none", [...DONE.slice(0, 5), toGoOn(1)]],
    [
      "10 begins a run that was cancelled as if it was not",
      [...DONE.slice(0, 5), toGoOn(1), "CANCEL", ...NOTICE, resume(1)],
      AGAIN,
    ],
    ["8 begins a run that was not cancelled as if it were", [...DONE, cancelledResume(1)]],
  ],
  "delivered-once": [
    ["8 is a notice of an end that event 7 (NOTICE_ACKNOWLEDGED) delivered", [...DONE, "NOTICE_ACKNOWLEDGED"]],
    [
      "6 is a notice of an end that event 5 (WAIT_DELIVERED) delivered",
      [...AT_WORK, call("WAIT_BEGAN"), answer(1), call("WAIT_DELIVERED"), ...NOTICE],
    ],
  ],
  "notice-owed": [
    ["5 is a notice of an end that is owed to a call", [...AT_WORK, call("WAIT_BEGAN"), answer(1), "NOTICE_COMPOSED"]],
    ["7 is a notice of an end that is owed to a prompt", [...DONE.slice(0, 6), "NOTICE_COMPOSED"]],
    ["6 is a notice of an end that is owed to the outbox", [...DONE.slice(0, 5), "NOTICE_ACKNOWLEDGED"]],
  ],
  "nothing-forgotten": [
    ["the end is owed to the outbox, and the notice is stored as none", DONE.slice(0, 5)],
    ["the end is owed to a call, and the notice is stored as none", [...AT_WORK, call("WAIT_BEGAN"), answer(1)]],
    ["6 begins run 1, and the end before is still owed to the outbox", [...DONE.slice(0, 5), resume(1)]],
    ["9 begins run 1, and call_1 waits for the one before", [...DONE, call("WAIT_BEGAN"), resume(1)]],
  ],
  "waits-matched": [
    ["8 ends the wait of call_1, which does not wait", [...DONE, call("WAIT_ABANDONED")]],
    ['waiting are "call_1", and stored are ""', [...AT_WORK, call("WAIT_BEGAN")], RUNNING],
  ],
  "newest-claim-counts": [
    [
      "2 is of a server that has not run 0",
      [claim("REMOTE_CLAIMED", 3), claim("REMOTE_ENDED", 2, { outcome: "completed" })],
      FOR_FLEET,
    ],
    [
      "2 claims run 0 by an older claim than the one that it has",
      [claim("REMOTE_CLAIMED", 3), claim("REMOTE_CLAIMED", 2)],
      { ...RUNNING, ...FOR_FLEET },
    ],
  ],
  "one-server": [
    [
      "2 begins run 0 here, and a server has it",
      [claim("REMOTE_CLAIMED", 3), "SLOT_GRANTED"],
      { ...RUNNING, ...FOR_FLEET },
    ],
  ],
  "status-agrees": [
    ["4 ends run 0, which is stored as running", [...AT_WORK, "CANCEL", "STOPPED"], RUNNING],
    ["run 0 is under way, and stored as resumed", AT_WORK, { value: { lifecycle: "resumed" } }],
    ["run 0 is stored as error, and nothing ended it", [], ended("error")],
    [
      "run 0 is stored as completed, and as one that is under way",
      DONE,
      { value: { run: { active: { working: "busy" } } } },
    ],
  ],
  "counts-agree": [
    [
      "run 0 is the newest, and run 1 is stored",
      DONE,
      { context: { run: { index: 1, messageID: "msg_0", partID: "prt_0", startedAt: Date.UTC(2026, 0, 1) } } },
    ],
    [
      "the prompt is msg_0, and msg_9 is stored",
      DONE,
      { context: { run: { index: 0, messageID: "msg_9", partID: "prt_0", startedAt: Date.UTC(2026, 0, 1) } } },
    ],
    [
      "the newest run is stored with another beginning",
      DONE,
      { context: { run: { index: 0, messageID: "msg_0", partID: "prt_0", startedAt: 5 } } },
    ],
    ['the instructions "msg_s1" wait, and "" are stored', [...AT_WORK, steer(1)], RUNNING],
  ],
};

describe("a journal that breaks", () => {
  describe.each(Object.entries(BREAKING))("%s", (name, journals) => {
    test.each(journals)("%s", (says, written, around) => {
      expect(brokenIn(journalOf(written, around))[name]).toContain(says);
    });
  });

  test("every promise has a journal here that breaks it", () => {
    expect(Object.keys(BREAKING).toSorted()).toEqual(JOURNAL_PROMISES.map(({ name }) => name).toSorted());
  });
});

test("of a journal that does not begin at the launch, nothing is said", () => {
  expect(checkJournal({ ...journalOf(DONE), origin: null })).toBeUndefined();
});

/** Every file that a file reaches by its imports. */
const reachedFrom = (file: string, reached = new Set<string>()): Set<string> => {
  if (reached.has(file)) return reached;
  reached.add(file);
  for (const [, path = ""] of readFileSync(file, "utf8").matchAll(/from "(\.[^"]+)"/g)) {
    const imported = join(dirname(file), path);
    if (existsSync(imported)) reachedFrom(imported, reached);
  }
  return reached;
};

test("what checks journals reaches no chart by its imports, nor what is built on charts", () => {
  const root = fileURLToPath(new URL("../../../", import.meta.url));
  const reached = [...reachedFrom(join(root, "src/services/promises/check-journal.ts"))].map((file) =>
    file.slice(root.length),
  );
  // Files of `src` itself have shapes: they import no chart either, or it would be reached here.
  const allowed = /^src\/([^/]+|services\/(promises\/.+|text\/(amounts|own-text)|platform\/.+))\.ts$/;
  expect(reached.length).toBeGreaterThan(7);
  expect(reached.filter((file) => !allowed.test(file))).toEqual([]);
});
