import { isDeepStrictEqual } from "node:util";
import type { NoticePrompt, OutboxEffect, OutboxEvent, Sender } from "../../src/machines/outbox/events.ts";
import type { RunResult } from "../../src/machines/task/events.ts";

/** Milliseconds for which a parent's failed turn is waited out: a prompt sent before that could get lost. */
const SETTLING = 500;
/** The pause after the first try to send, check or read, in milliseconds. Each further try doubles it, up to the longest. */
const TRIES = { first: 2_000, longest: 60_000 };
/** The pause after the parent was not found, in milliseconds. */
const SEARCHES = { first: 5_000, longest: 600_000 };
/** The pause before a parent that is not in use, or was stopped, is looked at again, in milliseconds. */
const LOOKS = { first: 15_000, longest: 600_000 };
/** Milliseconds after which the batches of ends that are held are asked about once more. */
const BATCHES_AGAIN = 15_000;
/** Milliseconds after which it is looked again whether others are at work, for which what is owed waits. */
const LOOK_FOR_MORE = 15_000;
/** How often in a row the parent is read again because more runs ended meanwhile. */
const READS_AGAIN = 5;
/** How often in a row a prompt is rejected until it is given up. */
const REJECTIONS = 3;

/** One step of an outbox, seen from outside. `wakesAt`: when it wants a `TICK`, in epoch milliseconds. */
export interface OutboxStep {
  event: OutboxEvent;
  effects: readonly OutboxEffect[];
  wakesAt: number | undefined;
}

type Runs = NoticePrompt["runs"];

/** An end that no prompt carries yet. */
interface Owed {
  end: RunResult;
  /** True when the parent is not to be kept waiting for it. */
  wakes: boolean;
}

/** A prompt that the parent has not answered, and what is known of it. */
interface UnderWay {
  prompt: NoticePrompt;
  isShown: boolean;
  storedAt: number | undefined;
  /** True once this process has sent it. */
  isSent: boolean;
  /** True while it stands in the conversation, whose turn a person stopped. */
  isStopped: boolean;
  /** When that was. */
  stoppedAt: number | undefined;
  /** What the host reported first since the prompt was sent last. */
  complaint: string | undefined;
  /** True where that may be a fault of the host. */
  isFault: boolean;
  rejections: number;
}

const NEW = {
  ...{ isShown: false, storedAt: undefined, isSent: false, isStopped: false, stoppedAt: undefined },
  ...{ complaint: undefined, isFault: false, rejections: 0 },
} as const;

/** A question to the host that it has not answered. */
type Call = "read" | "send" | "check" | "search";

/** What the outbox does next: it waits for an answer, or until a time, perhaps for more ends, or has nothing to do. */
type Waiting = { answerTo: Call } | { until: number; before: Call; isForMore?: true } | "nothing";

const demand = (isTrue: boolean, what: () => string): void => {
  if (!isTrue) throw new Error(what());
};

const doubled = ({ first, longest }: typeof TRIES, times: number): number => {
  let pause = first;
  for (let time = 1; time < times && pause < longest; time += 1) pause *= 2;
  return Math.min(pause, longest);
};

const isOf =
  ({ taskId, run }: { taskId: string; run: number }) =>
  (other: { taskId: string; run: number }) =>
    other.taskId === taskId && other.run === run;

/** What a notice is composed of. */
const wordsOfEnd = ({ wake: _, ...words }: RunResult) => words;
/** What is sent of a prompt. */
const wordsOf = ({ toasts: _, ...words }: NoticePrompt) => words;

/**
 * Follows the outbox of a parent from outside, and throws when a step breaks what is promised of every history: each end is
 * owed until it is withdrawn, acknowledged or dropped, and is in one prompt at most; one prompt at a time, to the letter the
 * same each time, until the parent's model was certainly shown it; nothing is tried sooner, more often or less often than
 * promised. It knows nothing of the chart: its expectations are written down here.
 */
export const createOutboxHistory = (parentSessionID: string) => {
  let owed: Owed[] = [];
  let underWay: UnderWay | undefined;
  /** Prompts of processes that have ended. They come before anything else. */
  let inherited: NoticePrompt[] = [];
  let waiting: Waiting = "nothing";
  let isClosed = false;
  /** When the parent's failed turn is waited out; undefined when it can be sent a prompt. */
  let settledAt: number | undefined;
  /** Until when held ends are held without another question; undefined when none is held. */
  let heldUntil: number | undefined;
  /** True while the words of a prompt are written, which is done at once. */
  let isComposing = false;
  let sender: Sender | undefined;
  /** What was tried for the prompt under way; before there is one, for the one to come. */
  let tries = 0;
  let looks = 0;
  /** True while the parent is sent nothing, because a person took back messages of it or archived it. */
  let isSetAside = false;
  let timesNotFound = 0;
  let readsAgain = 0;
  let owedWhenRead = 0;
  let expected: OutboxEffect[] = [];
  let now = 0;
  let isBatchQuestionDue = false;

  const startAfresh = () => {
    tries = 0;
    looks = 0;
    timesNotFound = 0;
    readsAgain = 0;
  };

  const isAskedFor = (call: Call): boolean =>
    waiting !== "nothing" && "answerTo" in waiting && waiting.answerTo === call;
  const isBefore = (call: Call): boolean => waiting !== "nothing" && "before" in waiting && waiting.before === call;

  /** True while what is owed waits for more ends: the parent's conversation is in the provider's cache. */
  const isForMore = (): boolean => waiting !== "nothing" && "isForMore" in waiting;

  const ask = (call: Call, effect: OutboxEffect) => {
    isSetAside = false;
    if (underWay) underWay.isStopped = false;
    waiting = { answerTo: call };
    expected.push(effect);
  };

  const pauseBefore = (call: Call, pause: number) => {
    waiting = { until: now + pause, before: call };
  };

  /** Whether it could be more than a small model has room for. */
  const isMuchOwed = (): boolean =>
    owed.reduce((chars, { end }) => chars + 700 + (end.result ?? "").length, 0) > 16_000;

  const lookLater = (call: Call) => {
    looks += 1;
    pauseBefore(call, doubled(LOOKS, looks));
  };

  const read = () => {
    owedWhenRead = owed.length;
    const wasRefused = (underWay?.rejections ?? 0) > 0;
    ask("read", { type: "readParent", parentSessionID, wasRefused, asksRoom: !underWay && isMuchOwed() });
  };

  const send = () => {
    if (!underWay || !sender) throw new Error("a prompt is sent without words, or under nobody's name");
    tries += 1;
    underWay.complaint = undefined;
    underWay.isFault = false;
    ask("send", { type: "sendNotice", parentSessionID, prompt: underWay.prompt, sender });
  };

  const check = () => {
    if (!underWay) throw new Error("there is no prompt to be checked");
    ask("check", { type: "checkNotice", parentSessionID, messageID: underWay.prompt.messageID });
  };

  const search = () => ask("search", { type: "findParent", parentSessionID });

  const runNow = (call: Call) => ({ read, send, check, search })[call]();

  /** Begins what can be begun, where nothing is waited for. */
  const goOn = () => {
    if (waiting !== "nothing" || isClosed) return;
    if (underWay) {
      if (settledAt === undefined) read();
      return;
    }
    const [next, ...later] = inherited;
    if (next) {
      underWay = { ...NEW, prompt: next };
      inherited = later;
      startAfresh();
      return check();
    }
    if (owed.length === 0) return startAfresh();
    if (!owed.some(({ wakes }) => wakes)) return;
    if (settledAt === undefined) read();
  };

  const showToasts = () => {
    if (!underWay || underWay.isShown) return;
    const { toasts } = underWay.prompt;
    underWay.isShown = true;
    if (toasts.length > 0) expected.push({ type: "showToasts", parentSessionID, toasts });
  };

  const end = (...effects: OutboxEffect[]) => {
    expected.push(...effects);
    isSetAside = false;
    underWay = undefined;
    waiting = "nothing";
    startAfresh();
  };

  const acknowledge = () => {
    if (!underWay) return;
    showToasts();
    end({ type: "noticeAcknowledged", parentSessionID, runs: underWay.prompt.runs });
  };

  /** True when the prompt was not rejected too often in a row. Else it is given up. */
  const isSpared = (reason: string): boolean => {
    if (!underWay) return false;
    underWay.rejections += 1;
    if (underWay.rejections < REJECTIONS) return true;
    const { runs } = underWay.prompt;
    end({ type: "noticeRejected", parentSessionID, runs, reason }, { type: "noticeDropped", parentSessionID, runs });
    return false;
  };

  const drop = () => {
    const runs: Runs = [
      ...[...(underWay ? [underWay.prompt] : []), ...inherited].flatMap((prompt) => prompt.runs),
      ...owed.map(({ end: { taskId, run } }) => ({ taskId, run })),
    ];
    if (runs.length > 0) expected.push({ type: "noticeDropped", parentSessionID, runs });
    owed = [];
    isSetAside = false;
    inherited = [];
    underWay = undefined;
    waiting = "nothing";
    startAfresh();
  };

  /** What ended before a person stopped the turn begins none; what ended since does. */
  const wakeSinceStop = () => {
    const stoppedAt = underWay?.isStopped ? underWay.stoppedAt : undefined;
    if (!underWay || stoppedAt === undefined || !owed.some(({ end, wakes }) => wakes && end.endedAt >= stoppedAt))
      return;
    underWay.isStopped = false;
    waiting = "nothing";
  };

  const takeEnd = (given: RunResult) => {
    const carried = [...(underWay ? [underWay.prompt] : []), ...inherited].flatMap(({ runs }) => runs);
    if (carried.some(isOf(given)) || owed.some(({ end }) => isOf(given)(end))) return;
    const wakes = given.wake !== "all" || given.outcome === "error";
    owed.push({ end: given, wakes });
    isBatchQuestionDue = true;
    if (isForMore()) waiting = "nothing";
    wakeSinceStop();
  };

  const notFound = (message: string) => {
    // Nothing was asked of the host: an old answer, or one to nobody.
    if (isBefore("search") || isAskedFor("search") || heldUntil !== undefined) return;
    isSetAside = false;
    if (underWay) underWay.isStopped = false;
    if (underWay && isAskedFor("send")) underWay.complaint ??= message;
    timesNotFound += 1;
    pauseBefore("search", doubled(SEARCHES, timesNotFound));
  };

  /** The parent is there after all. */
  const found = () => {
    if (!isBefore("search") && !isAskedFor("search")) return;
    waiting = "nothing";
    if (underWay) check();
  };

  const takeRead = (event: Extract<OutboxEvent, { type: "PARENT_READ" }>) => {
    if (!isAskedFor("read")) return;
    waiting = "nothing";
    if (event.setAside) {
      const why = event.setAside;
      const ends = owed.map(({ end }) => wordsOfEnd(end) as RunResult);
      if (looks === 0 && ends.length > 0) expected.push({ type: "reportSetAside", parentSessionID, ends, why });
      if (!underWay && ends.length === 0) return startAfresh();
      isSetAside = true;
      return lookLater("read");
    }
    if (underWay) {
      sender = event.sender;
      if (settledAt === undefined) send();
      return;
    }
    if (inherited.length > 0) return;
    const { gatherUntil = now } = event;
    if (gatherUntil > now && owed.some(({ wakes }) => wakes) && owed.every(({ end }) => end.outcome !== "error")) {
      waiting = { until: Math.min(gatherUntil, now + LOOK_FOR_MORE), before: "read", isForMore: true };
    } else if (event.othersRun && owed.length > owedWhenRead && readsAgain < READS_AGAIN) {
      readsAgain += 1;
      read();
    } else if (event.room === undefined && isMuchOwed()) {
      read();
    } else if (settledAt === undefined && owed.some(({ wakes }) => wakes)) {
      sender = event.sender;
      expected.push({
        type: "composeNotice",
        parentSessionID,
        queue: owed.map(({ end }) => wordsOfEnd(end) as RunResult),
        ...(event.room === undefined ? {} : { room: event.room }),
      });
      isComposing = true;
    }
  };

  const takeChecked = (event: Extract<OutboxEvent, { type: "CHECKED" }>) => {
    if (!underWay || !isAskedFor("check") || event.messageID !== underWay.prompt.messageID) return;
    if (event.standing === "answered") return acknowledge();
    if (event.standing === "pending") {
      tries += 1;
      underWay.storedAt = event.storedAt;
      return pauseBefore("check", doubled(TRIES, tries));
    }
    if (event.standing === "stopped" && underWay.isSent && !underWay.isFault) {
      underWay.storedAt = event.storedAt;
      underWay.isStopped = true;
      underWay.stoppedAt = event.stoppedAt;
      lookLater("check");
      return wakeSinceStop();
    }
    if (underWay.complaint === undefined) underWay.rejections = 0;
    else if (!isSpared(underWay.complaint)) return;
    waiting = "nothing";
  };

  /** A turn that failed is waited out from its last sign on; one that goes on can be sent a prompt. */
  const takeTurn = ({ type }: OutboxEvent) => {
    const hasPassed = type === "TICK" && settledAt !== undefined && now >= settledAt;
    if (type === "PARENT_BUSY" || type === "PARENT_CLOSED" || hasPassed) settledAt = undefined;
    if (type === "PARENT_ERROR" || (type === "PARENT_IDLE" && settledAt !== undefined)) settledAt = now + SETTLING;
  };

  const takeEvent = (event: OutboxEvent) => {
    const isCurrent = "messageID" in event && event.messageID === underWay?.prompt.messageID;
    switch (event.type) {
      case "NOTICE_DUE":
        return takeEnd(event.end);
      case "ADOPTED":
        if (isForMore()) waiting = "nothing";
        return void inherited.push(...event.prompts);
      case "WITHDRAW":
        owed = owed.filter(({ end }) => !isOf(event)(end));
        isBatchQuestionDue = true;
        if (isForMore() && !owed.some(({ wakes }) => wakes)) waiting = "nothing";
        if (isSetAside && !underWay && owed.length === 0) {
          isSetAside = false;
          waiting = "nothing";
        }
        return;
      case "BATCHES_CHECKED":
        if (heldUntil === undefined && !underWay?.isStopped) return;
        for (const one of owed) one.wakes ||= event.ended.includes(one.end.batchId);
        return wakeSinceStop();
      case "PARENT_READ":
        return takeRead(event);
      case "READ_FAILED":
        if (!isAskedFor("read")) return;
        tries += 1;
        return pauseBefore("read", doubled(TRIES, tries));
      case "COMPOSE_FAILED":
        if (!isComposing) return;
        isComposing = false;
        tries += 1;
        return pauseBefore("read", doubled(TRIES, tries));
      case "COMPOSED": {
        if (!isComposing) return;
        isComposing = false;
        const { prompt } = event;
        expected.push({ type: "noticeComposed", parentSessionID, runs: prompt.runs });
        underWay = { ...NEW, prompt };
        owed = owed.filter(({ end }) => !prompt.runs.some(isOf(end)));
        startAfresh();
        return send();
      }
      case "SENT":
        if (!isAskedFor("send") || !isCurrent) return;
        showToasts();
        timesNotFound = 0;
        if (underWay) underWay.isSent = true;
        return pauseBefore("check", doubled(TRIES, tries));
      case "SEND_REFUSED":
        if (!isAskedFor("send") || !isCurrent) return;
        if (event.retryable || isSpared(event.message)) pauseBefore("read", doubled(TRIES, tries));
        return;
      case "CHECKED":
        return takeChecked(event);
      case "CHECK_FAILED":
        if (!isAskedFor("check") || !isCurrent) return;
        tries += 1;
        return pauseBefore("check", doubled(TRIES, tries));
      case "PARENT_STORED":
        if (underWay && isCurrent) underWay.storedAt = event.createdAt;
        if (isSetAside && !isCurrent) read();
        return;
      case "PARENT_CHANGED":
        if (isSetAside) read();
        return;
      case "PARENT_BUSY":
        if (isForMore()) waiting = "nothing";
        if (!underWay?.isStopped) return;
        underWay.isStopped = false;
        return pauseBefore("check", doubled(TRIES, tries));
      case "PARENT_ANSWERED": {
        if (!underWay) return;
        const { prompt, storedAt } = underWay;
        const isNewer = event.promptID > prompt.messageID && storedAt !== undefined && event.createdAt >= storedAt;
        if (event.promptID === prompt.messageID || isNewer) acknowledge();
        return;
      }
      case "PARENT_PRESENT":
      case "PARENT_FOUND":
        if (event.type === "PARENT_FOUND" && !isAskedFor("search")) return;
        return found();
      case "PARENT_IDLE":
        if (isBefore("check") && !underWay?.isStopped) pauseBefore("check", SETTLING);
        return;
      case "PARENT_ERROR":
        if (underWay && (isAskedFor("send") || isAskedFor("check") || (isBefore("check") && !underWay.isStopped))) {
          underWay.isFault = underWay.complaint === undefined ? event.fault !== undefined : underWay.isFault;
          underWay.complaint ??= event.message ?? "an error";
        }
        return;
      case "PARENT_NOT_FOUND":
        return notFound(event.message);
      case "SEARCH_FAILED":
        if (!isAskedFor("search")) return;
        timesNotFound += 1;
        return pauseBefore("search", doubled(SEARCHES, timesNotFound));
      case "PARENT_CLOSED":
        drop();
        isClosed = true;
        heldUntil = undefined;
        return;
      case "TICK":
        if (waiting !== "nothing" && "until" in waiting && now >= waiting.until) {
          if (isForMore()) waiting = "nothing";
          else runNow(waiting.before);
        }
        if (heldUntil !== undefined && now >= heldUntil) isBatchQuestionDue = true;
    }
  };

  /** What comes to a parent that is gone cannot be delivered. A launch of its own shows that it is there. */
  const takeWhenClosed = (event: OutboxEvent) => {
    if (event.type === "NOTICE_DUE") owed.push({ end: event.end, wakes: true });
    if (event.type === "ADOPTED") inherited.push(...event.prompts);
    if (event.type === "PARENT_PRESENT") isClosed = false;
    drop();
  };

  const comparable = (effects: readonly OutboxEffect[]) =>
    effects
      .filter(({ type }) => type !== "checkBatches")
      .map((effect) => {
        if (effect.type === "composeNotice") return { ...effect, queue: effect.queue.map(wordsOfEnd) };
        if (effect.type === "reportSetAside") return { ...effect, ends: effect.ends.map(wordsOfEnd) };
        return effect.type === "sendNotice" ? { ...effect, prompt: wordsOf(effect.prompt) } : effect;
      });

  /** Whether ends are held; and those that are held were asked about after the newest change, and every 15 s. */
  const hold = (effects: readonly OutboxEffect[]) => {
    const isHeld =
      !isClosed &&
      !isComposing &&
      waiting === "nothing" &&
      !underWay &&
      owed.length > 0 &&
      owed.every(({ wakes }) => !wakes);
    const questions = effects.filter((effect) => effect.type === "checkBatches");
    const wasHeld = heldUntil !== undefined;
    if (!isHeld) {
      heldUntil = undefined;
      isBatchQuestionDue = false;
      return;
    }
    if (!wasHeld || isBatchQuestionDue) {
      const batches = questions.at(-1)?.batchIds ?? [];
      const about = new Set(owed.map(({ end }) => end.batchId));
      demand(
        isDeepStrictEqual(new Set(batches), about),
        () => `asked about the batches "${batches}" in place of "${[...about]}"`,
      );
      heldUntil = now + BATCHES_AGAIN;
    }
    isBatchQuestionDue = false;
  };

  return {
    take: ({ event, effects, wakesAt }: OutboxStep): void => {
      expected = [];
      now = event.at;
      takeTurn(event);
      if (isClosed) takeWhenClosed(event);
      else takeEvent(event);
      if (!isComposing) goOn();
      hold(effects);
      const [done, due] = [comparable(effects), comparable(expected)];
      demand(isDeepStrictEqual(done, due), () => `does ${JSON.stringify(done)} in place of ${JSON.stringify(due)}`);
      const until = waiting !== "nothing" && "until" in waiting ? waiting.until : heldUntil;
      const next = Math.min(until ?? Number.POSITIVE_INFINITY, settledAt ?? Number.POSITIVE_INFINITY);
      const wanted = next === Number.POSITIVE_INFINITY ? undefined : next;
      demand(wakesAt === wanted, () => `wakes at ${wakesAt} in place of ${wanted}`);
    },
  };
};
