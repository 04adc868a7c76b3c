import type { RecordedEvent, RecordedJournal } from "../../../src/services/promises/exported-journal.ts";

const START = Date.UTC(2026, 0, 1);

/** An event as a test writes it: its name, and what it brings. One comes a second after the other, unless it says its time. */
export type Written = string | (Omit<Partial<RecordedEvent>, "type"> & { type: string });

type Origin = NonNullable<RecordedJournal["origin"]>;
type Snapshot = RecordedJournal["snapshot"];

/** What a test says of a journal beside its events. */
export interface Around {
  facts?: Partial<Origin["facts"]>;
  value?: Partial<Snapshot["value"]>;
  context?: Partial<Snapshot["context"]>;
}

/** Writes a journal by hand, without any chart. Unless a test says otherwise, its snapshot is that of a completed task. */
export const journalOf = (written: readonly Written[], { facts, value, context }: Around = {}): RecordedJournal => {
  const events = written.map((event, index): RecordedEvent => {
    const at = START + (index + 1) * 1_000;
    return typeof event === "string" ? { type: event, at } : { at, ...event };
  });
  const resumes = events.filter(({ type }) => type === "RESUME" || type === "RETRY");
  const newest = resumes.at(-1);
  const launch = { index: 0, messageID: "msg_0", partID: "prt_0", startedAt: START };
  const run = newest
    ? { index: resumes.length, messageID: newest.messageID ?? "", partID: newest.partID ?? "", startedAt: newest.at }
    : launch;
  const ownFacts = { description: "count the files", agent: "general", ...facts };
  return {
    taskId: "ses_counting",
    origin: { facts: ownFacts, run: launch },
    events,
    snapshot: {
      value: {
        ...{ lifecycle: "completed", run: "idle", notice: "none" },
        ...{ attention: "none", steering: "none", nextRun: "none" },
        ...value,
      },
      context: {
        facts: ownFacts,
        run,
        checkId: Math.max(0, ...events.flatMap(({ checkId }) => checkId ?? [])),
        receipt: events.slice(newest ? events.indexOf(newest) : 0).findLast(({ receipt }) => receipt)?.receipt,
        result: events.findLast(({ type }) => type === "CHECKED_ANSWERED")?.result,
        userRequests: [],
        waiters: [],
        ...context,
      },
    },
  };
};

/** A run under way, with nothing owed. */
export const RUNNING: Around = { value: { lifecycle: "running", run: { active: { working: "busy" } } } };

export const answer = (checkId: number, more: Partial<RecordedEvent> = {}): Written => ({
  type: "CHECKED_ANSWERED",
  checkId,
  result: "There are 12.",
  ...more,
});
export const check = (type: string, checkId: number, more: Partial<RecordedEvent> = {}): Written => ({
  type,
  checkId,
  ...more,
});
export const receipt = (run: number): Written => ({ type: "RECEIPT_WRITTEN", receipt: { run } });
const nextRun = (n: number) => ({ messageID: `msg_r${n}`, partID: `prt_r${n}` });
export const resume = (n: number): Written => ({ type: "RESUME", ...nextRun(n) });
/** One that was cancelled before it could begin. */
export const cancelledResume = (n: number): Written => ({ type: "RESUME", ...nextRun(n), isCancelled: true });
export const retry = (n: number): Written => ({ type: "RETRY", ...nextRun(n) });
/** A resume that is asked for while the end before is being delivered. */
export const toGoOn = (n: number): Written => ({ type: "NEXT_RUN_ASKED", begins: "RESUME", ...nextRun(n) });
export const steer = (n: number): Written => ({ type: "STEER", messageID: `msg_s${n}`, partID: `prt_s${n}` });
export const seen = (n: number): Written => ({ type: "INSTRUCTION_SEEN", messageID: `msg_s${n}` });
export const stored = (n: number): Written => ({ type: "STEERING_STORED", messageID: `msg_s${n}` });
export const call = (type: string, name = "call_1"): Written => ({ type, call: name });
export const asked = (id: string): Written => ({ type: "REQUEST_ASKED", request: { id } });
export const answered = (id: string): Written => ({ type: "REQUEST_ANSWERED", id });
export const model = (modelID: string): Written => ({
  type: "MODEL_CHANGED",
  model: { providerID: "fake", modelID },
});
export const gateEnd = (gateRun: number, exit: number, end = "exited"): Written => ({
  type: "GATE_ENDED",
  gateRun,
  end: { exit, end },
  messageID: `msg_g${gateRun}`,
  partID: `prt_g${gateRun}`,
});
export const misfit = (n: number): Partial<RecordedEvent> => ({
  misfit: { messageID: `msg_m${n}`, partID: `prt_m${n}` },
});
export const claim = (type: string, seq: number, more: Partial<RecordedEvent> = {}): Written => ({
  type,
  claim: { epoch: START, seq },
  ...more,
});

/** From the launch to the child at work. */
export const AT_WORK: readonly Written[] = ["SLOT_GRANTED", "PROMPT_ACCEPTED"];
/** The notice of an end, from its writing to its reader. */
export const NOTICE: readonly Written[] = ["NOTICE_COMPOSED", "NOTICE_ACKNOWLEDGED"];
/** A run that is answered and whose end is delivered. */
export const DONE: readonly Written[] = [...AT_WORK, "HOST_IDLE", answer(1), receipt(0), ...NOTICE];
