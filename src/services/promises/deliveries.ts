import type { Account, JournalRun, JournalStep } from "./account.ts";
import { at, type Breach, inSnapshot, type JournalPromise } from "./account.ts";

/** To whom the end of a run is owed: to nobody, to a call that waits, to the outbox, or to the reader of a prompt under way. */
type Owed = "nobody" | "a call" | "the outbox" | "a prompt";

/** What each is called in a snapshot. */
const STORED_AS: Record<Owed, string> = {
  nobody: "none",
  "a call": "held",
  "the outbox": "due",
  "a prompt": "sending",
};

/** What was wrong in the delivery of a task's results. */
interface Deliveries {
  /** An end is delivered that had been delivered. */
  twice: Breach[];
  /** A prompt carries the notice of an end, or the parent has read it, which is not owed. */
  unowed: Breach[];
  /** A run is begun though the end of the one before is owed. */
  forgotten: Breach[];
  /** A call ends its wait that does not wait. */
  unwaited: Breach[];
  owed: Owed;
  /** Those that still wait. */
  waiters: string[];
}

/** Follows how each run's end is delivered. */
const followDeliveries = ({ runs }: Account): Deliveries => {
  const found: Deliveries = { twice: [], unowed: [], forgotten: [], unwaited: [], owed: "nobody", waiters: [] };
  let delivered: JournalStep | undefined;

  const endWait = (step: JournalStep) => {
    const { type, call = "" } = step.event;
    if (!found.waiters.includes(call))
      return found.unwaited.push(at(step, `ends the wait of ${call}, which does not wait`));
    found.waiters = found.waiters.filter((each) => each !== call);
    // The output of one whose time was up is stored too: there was nothing to deliver.
    if (found.owed !== "a call") return;
    if (type === "WAIT_DELIVERED") [found.owed, delivered] = ["nobody", step];
    else if (found.waiters.length === 0) found.owed = "the outbox";
  };

  /** A notice is written, read or dropped: one of an end that is owed so. */
  const takeNotice = (step: JournalStep, from: readonly Owed[], to: Owed) => {
    const isOwed = from.includes(found.owed);
    if (!isOwed && delivered && found.owed === "nobody")
      found.twice.push(
        at(step, `is a notice of an end that event ${delivered.number} (${delivered.event.type}) delivered`),
      );
    else if (!isOwed) found.unowed.push(at(step, `is a notice of an end that is owed to ${found.owed}`));
    if (isOwed) found.owed = to;
    if (step.event.type === "NOTICE_ACKNOWLEDGED") delivered ??= step;
  };

  const take = (step: JournalStep, run: JournalRun) => {
    const { type, call = "", isNoticePending } = step.event;
    if (step === run.ending) found.owed = found.waiters.length > 0 ? "a call" : "the outbox";
    switch (type) {
      case "WAIT_BEGAN":
        found.waiters = [...found.waiters, call];
        if (found.owed === "the outbox") found.owed = "a call";
        return;
      case "WAIT_DELIVERED":
      case "WAIT_ABANDONED":
        return endWait(step);
      case "NOTICE_COMPOSED":
        return takeNotice(step, ["the outbox"], "a prompt");
      case "NOTICE_ACKNOWLEDGED":
        return takeNotice(step, ["a prompt"], "nobody");
      case "NOTICE_DROPPED":
        return takeNotice(step, ["the outbox", "a prompt"], "nobody");
      case "ADOPTED":
        if (found.owed === "a prompt" && isNoticePending === false) found.owed = "the outbox";
    }
  };

  for (const run of runs) {
    if (run.began && found.owed !== "nobody")
      found.forgotten.push(at(run.began, `begins run ${run.index}, and the end before is still owed to ${found.owed}`));
    if (run.began && found.waiters.length > 0)
      found.forgotten.push(
        at(run.began, `begins run ${run.index}, and ${found.waiters.join(", ")} waits for the one before`),
      );
    found.owed = "nobody";
    delivered = undefined;
    for (const step of run.steps) take(step, run);
  }
  return found;
};

const deliveredOnce: JournalPromise = {
  name: "delivered-once",
  says: "Each end is delivered once: by a notice or by a call that waited for it.",
  breaches: (account) => followDeliveries(account).twice,
};

const noticeOwed: JournalPromise = {
  name: "notice-owed",
  says: "A notice is written only of an end that is owed and that no call waits for, and read only where it was written.",
  breaches: (account) => followDeliveries(account).unowed,
};

const nothingForgotten: JournalPromise = {
  name: "nothing-forgotten",
  says: "Each end is owed until it is delivered or nobody is there to have it: no run begins before, and none is stored as delivered.",
  breaches: (account) => {
    const { forgotten, owed } = followDeliveries(account);
    const stored = account.journal.snapshot.value.notice;
    return stored === STORED_AS[owed]
      ? forgotten
      : [...forgotten, inSnapshot(`the end is owed to ${owed}, and the notice is stored as ${stored}`)];
  },
};

const sorted = (ids: readonly string[]): string => [...new Set(ids)].toSorted().join(", ");

const waitsMatched: JournalPromise = {
  name: "waits-matched",
  says: "A call that waits ends its wait once, and the snapshot has those that have not.",
  breaches: (account) => {
    const { unwaited, waiters } = followDeliveries(account);
    const stored = account.journal.snapshot.context.waiters;
    return sorted(stored) === sorted(waiters)
      ? unwaited
      : [...unwaited, inSnapshot(`waiting are "${sorted(waiters)}", and stored are "${sorted(stored)}"`)];
  },
};

export const DELIVERY_PROMISES: readonly JournalPromise[] = [deliveredOnce, noticeOwed, nothingForgotten, waitsMatched];
