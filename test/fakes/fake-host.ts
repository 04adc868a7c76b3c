import type { HostEvent, HostSession, RequestCost, ToolCallStage } from "../../src/machines/host-events.ts";
import type { HostError, Prompt } from "../../src/machines/task/events.ts";
import type {
  Host,
  HostAgent,
  HostFailure,
  HostMessage,
  HostModel,
  HostResult,
  NewSession,
  Toast,
} from "../../src/services/host/host.ts";
import type { Clock } from "../../src/services/platform/clock.ts";
import { createIds, type Ids } from "../../src/services/platform/ids.ts";
import type { ModelRef } from "../../src/task.ts";
import type { UserReply } from "../../src/user-request.ts";
import { createSessionFile, type SessionFile } from "./session-file.ts";

/**
 * How a session reacts to a prompt that reaches it.
 * - `work`: stores it, begins to answer, and continues until the test ends the run
 * - `reply`: stores it and answers "ok" at once
 * - `ignore`: stores it and does not answer, as the real host sometimes loses a message; answers when it is sent again
 * - `mute`: stores it and never answers, however often it is sent
 * - `lose`: accepts it but stores nothing
 * - `reject`: as with an unknown agent: two errors, no message, no idle
 */
export type Habit = "work" | "reply" | "ignore" | "mute" | "lose" | "reject";

export interface FakeSession extends HostSession {
  /** `toolResult` marks a message whose text is a tool result, which a fork may cut. */
  messages: (HostMessage & { toolResult?: boolean })[];
  /** Parts of stored user messages by message id. */
  parts: Map<string, Prompt["parts"]>;
  prompts: Prompt[];
  busy: boolean;
  habits: Habit[];
  /** The message whose request the provider refused last, and how often. */
  refusal: { request: string | undefined; attempt: number; stopWaiting?: () => void } | undefined;
  created: NewSession | undefined;
  /** The message that a person took back, with all after it. */
  revertedTo: string | undefined;
  /** The session from which this one was forked. */
  forkOf: string | undefined;
  metadata: Record<string, unknown>;
  madeAt: number;
  /** Stages of the tool calls in the conversation, by call id. */
  toolCalls: Map<string, ToolCallStage>;
  /** What was reported of the parts of its messages that are no text, and when. */
  reported: { at: number; event: HostEvent }[];
}

type Call = keyof Host;

type Reply = Omit<UserReply, "requestId">;

/** A scripted host that fulfils the contract of the real one, and shows its bad habits on demand. */
export interface FakeHost extends Host {
  agentList: HostAgent[];
  modelList: HostModel[];
  calls: Call[];
  /** Every prompt that was sent, including those that failed on the way. */
  attempts: Prompt[];
  toasts: Toast[];
  /** Ids of the requests that were to be rejected, including those that were not open. */
  rejected: string[];
  /** The replies to requests, with the requests' ids. */
  answers: (Reply & { id: string })[];
  openRequests: ReadonlyMap<string, string>;
  addSession(id: string, session?: Partial<HostSession> & { habit?: Habit }): void;
  at(sessionID: string): FakeSession;
  sessionIDs(): string[];
  /** Sets how a session reacts to its next prompts; the last habit stays. */
  habits(sessionID: string, ...habits: Habit[]): void;
  /** Sets the habits of sessions created from now on. */
  childHabits(...habits: Habit[]): void;
  /** What each request to a model costs from now on. Default: that is not reported. */
  requestCost: RequestCost | undefined;
  /** Sets how many milliseconds the models of people's sessions with the habit "reply" take. Default: none. */
  repliesAfter(ms: number): void;
  /** Makes the next `times` calls of this name fail. */
  failNext(call: Call, failure: HostFailure, times?: number): void;
  /** Makes the next calls of this name throw, as a fault in our own adapter would. */
  throwNext(call: Call, message: string): void;
  /** Holds the answers to the next calls of this name until `release` is called. */
  holdNext(call: Call): { release(): void };
  emit(event: HostEvent): void;
  /** Sends the event that describes a session as it is now. */
  emitSession(sessionID: string, isNew?: boolean): void;
  /**
   * The child answers its newest prompt and becomes idle. The idle event is sent `idles` times; with `unwritten`, no event
   * reports the answer itself; with `unseen`, the child ends with the message that it began before the newest prompt was
   * stored.
   */
  finish(sessionID: string, text: string, options?: { idles?: number; unwritten?: boolean; unseen?: boolean }): void;
  /** The child finishes a step, by default one with a tool call, and continues with the next one. */
  step(sessionID: string, given?: Pick<HostMessage, "finish" | "tools" | "text">): void;
  /**
   * The provider refuses the request of a busy session: as in the real host, it is made again after `ms`, and a request that
   * is refused again counts on.
   */
  refuseForNow(sessionID: string, ms: number): void;
  /** The run fails as in the real host: error, idle while the run still lives, then the failed message and a second idle. */
  fail(sessionID: string, error: HostError): void;
  /** The host reports an error of a busy session and goes on with its run; it may also say that the session is idle. */
  goOnAfterError(sessionID: string, error: HostError, options?: { idle?: boolean }): void;
  /**
   * The conversation is summed up, which takes `ms`. A busy session does so by itself, after an error with `overflow`, and
   * goes on as asked anew; an idle one is idle again. A session that is finished meanwhile has its summary first.
   */
  compact(sessionID: string, options?: { ms?: number; overflow?: boolean }): void;
  /** The turn of a busy session ends after a tool call, without an answer. */
  breakOff(sessionID: string): void;
  /**
   * The session's model, asked by a person where nothing is unanswered, calls tools in this message, which is not
   * finished until the returned function is called.
   */
  beginStep(sessionID: string, messageID: string): () => void;
  /** The user writes to the session, and its model is at work. */
  beginTurn(sessionID: string): void;
  /** The user writes to the session and is answered. */
  converse(sessionID: string): void;
  /** The user aborts the session's run. */
  abortByPerson(sessionID: string): void;
  /** The user takes back this message and all after it (`/undo`), of a session that is idle. */
  revert(sessionID: string, messageID: string): void;
  /** The user takes back nothing any more (`/redo`). */
  unrevert(sessionID: string): void;
  /** The user archives the session, or takes it out of the archive. */
  archive(sessionID: string, archived?: boolean): void;
  delete(sessionID: string): void;
  /** Ends the host's process: no run continues and no more events are sent. What was stored stays. */
  crash(): void;
  listen(listener: (event: HostEvent) => void): void;
}

export const MODEL: ModelRef = { providerID: "fake", modelID: "m1" };

export const unavailable: HostFailure = { kind: "unavailable", name: "Unreachable", message: "connection refused" };
export const refused: HostFailure = { kind: "refused", name: "BadRequest", message: "no" };
/** A 404. The host also answers with it for other reasons than a deletion. */
export const missing: HostFailure = { kind: "notFound", name: "NotFoundError", message: "session not found" };

const publicPart = (session: FakeSession): HostSession => {
  const { id, parentID, agent, model, permission, title, directory, revertedTo, archivedAt } = session;
  return {
    ...(directory === undefined ? {} : { directory }),
    ...(revertedTo === undefined ? {} : { isReverted: true }),
    ...(archivedAt === undefined ? {} : { archivedAt }),
    title,
    id,
    parentID,
    agent,
    model,
    permission,
  };
};

/** Returns a message's text as the host adapter reads it: without synthetic parts. */
const textOf = (parts: Prompt["parts"]): string =>
  parts.flatMap(({ text, synthetic }) => (synthetic ? [] : text)).join("\n");

/** The conversation has become too long for the model. */
const OVERFLOW: HostError = { name: "ContextOverflowError", message: "the prompt is too long" };

const ok = <T>(value: T): HostResult<T> => ({ ok: true, value });
const notFound = (what: string): HostResult<never> => ({
  ok: false,
  failure: { kind: "notFound", name: "NotFoundError", message: `${what} not found` },
});

/** Milliseconds that a model call continues after its session was deleted. */
const MODEL_CALL = 2_000;

/** Hosts that are given the same `file` are processes with the same database: each has runs, requests and events of its own. */
export const createFakeHost = (
  clock: Clock,
  ids: Ids = createIds(clock),
  file: SessionFile<FakeSession> = createSessionFile(),
): FakeHost => {
  const { sessions, createSessionID, wrote, isForeign } = file.open();
  const failures = new Map<Call, (HostFailure | Error)[]>();
  const holds = new Map<Call, Promise<void>[]>();
  const calls: Call[] = [];
  const attempts: Prompt[] = [];
  const toasts: Toast[] = [];
  const rejected: string[] = [];
  const answers: (Reply & { id: string })[] = [];
  /** The session that asks, by the request's id. */
  const openRequests = new Map<string, string>();
  /** The summaries that sessions write in the middle of their work. */
  const compacting = new Set<string>();
  /** Deleted sessions that are worked on to the end of their model's call, and waited in until they are aborted, as in the real host. */
  const haunted = new Set<string>();
  let agentList: HostAgent[] = [
    { name: "build", hidden: false, isPrimary: true, model: undefined },
    { name: "general", hidden: false, model: undefined },
    { name: "explore", hidden: false, model: { providerID: "fake", modelID: "small", variant: "low" } },
    { name: "title", hidden: true, isPrimary: true, model: undefined },
  ];
  const modelList: HostModel[] = [
    { providerID: "fake", modelID: "m1", variants: [] },
    { providerID: "fake", modelID: "small", variants: ["low", "high"] },
    { providerID: "router", modelID: "anthropic/claude", variants: [] },
  ];
  let childHabits: Habit[] = ["work"];
  let requestCost: RequestCost | undefined;
  let replyTime = 0;
  let listener: (event: HostEvent) => void = () => undefined;

  const emit = (event: HostEvent) => {
    // A test may send what is no request, in order to break what takes it.
    if (event.type === "asked" && event.request) openRequests.set(event.request.id, event.sessionID);
    if (event.type === "replied") openRequests.delete(event.requestID);
    if (event.type === "toolCall" || event.type === "step" || event.type === "filesChanged") {
      sessions.get(event.sessionID)?.reported.push({ at: clock.now(), event });
    }
    listener(event);
  };

  const emitSession = (sessionID: string, isNew = false) =>
    emit({ type: "session", sessionID, session: publicPart(session(sessionID)), isNew });

  const settleRequest = (id: string, answer: Reply, stops = false): HostResult<void> => {
    const sessionID = openRequests.get(id);
    if (sessionID === undefined) return notFound("request");
    answers.push({ id, ...answer });
    emit({ type: "replied", sessionID, requestID: id });
    const found = sessions.get(sessionID);
    if (stops && found?.busy) breakOff(found.id);
    return ok(undefined);
  };

  const session = (id: string): FakeSession => {
    const found = sessions.get(id);
    if (!found) throw new Error(`the test has no session ${id}`);
    return found;
  };

  /** Performs every call: records it, and holds it or makes it fail if a test asked for that. */
  const call = async <T>(name: Call, answer: () => HostResult<T>): Promise<HostResult<T>> => {
    calls.push(name);
    await holds.get(name)?.shift();
    const failure = failures.get(name)?.shift();
    if (failure instanceof Error) throw failure;
    return failure ? { ok: false, failure } : answer();
  };

  const remove = (id: string) => {
    const isBusy = sessions.get(id)?.busy === true;
    sessions.delete(id);
    if (isBusy) {
      haunted.add(id);
      const asks = () => [...openRequests.values()].includes(id);
      clock.after(MODEL_CALL, () => !asks() && haunted.delete(id) && emit({ type: "idle", sessionID: id }));
    }
    emit({ type: "deleted", sessionID: id });
  };

  const add = (id: string, given: Partial<FakeSession>) => {
    sessions.set(id, {
      id,
      parentID: undefined,
      agent: "build",
      model: MODEL,
      permission: [],
      messages: [],
      parts: new Map(),
      prompts: [],
      busy: false,
      habits: ["work"],
      refusal: undefined,
      revertedTo: undefined,
      created: undefined,
      forkOf: undefined,
      title: "a session",
      metadata: {},
      madeAt: clock.now(),
      toolCalls: new Map(),
      reported: [],
      ...given,
    });
  };

  const message = (given: Partial<HostMessage> & Pick<HostMessage, "role">): HostMessage => {
    const created = {
      id: ids.message(),
      createdAt: clock.now(),
      promptID: undefined,
      completedAt: undefined,
      finish: undefined,
      error: undefined,
      isSummary: false,
      text: "",
      ...given,
    };
    wrote(created.id);
    return created;
  };

  /** By the time that the host has of it; of those with the same time, the one that stands last. */
  const newestPrompt = (found: FakeSession): HostMessage | undefined =>
    found.messages
      .filter(({ role }) => role === "user")
      .reduce<HostMessage | undefined>(
        (newest, other) => (newest && newest.createdAt > other.createdAt ? newest : other),
        undefined,
      );

  const begin = (found: FakeSession) => {
    found.busy = true;
    const promptID = newestPrompt(found)?.id;
    emit({ type: "busy", sessionID: found.id });
    found.messages.push(message({ role: "assistant", promptID }));
    tell(found);
  };

  /** Sends the events of a message, default: the newest one; text first, as the host does. */
  const tell = (found: FakeSession, newest = found.messages.at(-1)) => {
    if (!newest) return;
    const { text, ...said } = newest;
    const isAnswer = newest.role === "assistant" && newest.completedAt !== undefined;
    const seen = isAnswer && requestCost ? { ...said, requestCost } : said;
    if (text) emit({ type: "text", sessionID: found.id, messageID: newest.id, partID: `prt_${newest.id}`, text });
    emit({ type: "message", sessionID: found.id, message: seen });
  };

  /**
   * The place of the message that this process is writing, or wrote last. Where another one has gone on meanwhile, that is
   * the message that was left unfinished here.
   */
  const placeToChange = ({ messages }: FakeSession): number => {
    const newest = messages.findLastIndex(({ id }) => !isForeign(id));
    if (newest === messages.length - 1) return newest;
    const unfinished = placeOfUnfinished(messages);
    return unfinished < 0 ? newest : unfinished;
  };

  const placeOfUnfinished = (messages: HostMessage[]): number =>
    messages.findLastIndex(
      ({ id, role, completedAt }) => role === "assistant" && completedAt === undefined && !isForeign(id),
    );

  /** Ends the message under way, where there is one: what was asked after that began is not answered by it. */
  const endMessage = (found: FakeSession, changes: Partial<HostMessage>) => {
    const underWay = placeOfUnfinished(found.messages);
    change(found, { completedAt: clock.now(), ...changes }, underWay < 0 ? placeToChange(found) : underWay);
  };

  const change = (found: FakeSession, changes: Partial<HostMessage>, place = placeToChange(found)) => {
    const newest = found.messages[place];
    if (newest?.role !== "assistant") {
      found.messages.push(message({ role: "assistant", promptID: newestPrompt(found)?.id, ...changes }));
      return tell(found);
    }
    const changed = { ...newest, ...changes };
    found.messages[place] = changed;
    tell(found, changed);
  };

  const goIdle = (found: FakeSession, idles = 1) => {
    found.busy = false;
    found.refusal?.stopWaiting?.();
    for (let told = 0; told < idles; told += 1) emit({ type: "idle", sessionID: found.id });
  };

  /** Finishes the message that was begun before the newest prompt was stored. False when there is none. */
  const finishBegun = (found: FakeSession, text: string): boolean => {
    const begun = found.messages.findLast(
      ({ id, role, completedAt }) => role === "assistant" && completedAt === undefined && !isForeign(id),
    );
    const newest = found.messages.at(-1);
    if (!begun || newest?.role !== "user") return false;
    const finished = { ...begun, completedAt: clock.now(), finish: "stop", text };
    found.messages = found.messages.map((other) => (other === begun ? finished : other));
    const { text: _, ...seen } = finished;
    emit({ type: "message", sessionID: found.id, message: seen });
    return true;
  };

  const unfinishedSummary = ({ messages }: FakeSession) =>
    messages.findLast(({ id, isSummary, completedAt }) => isSummary && completedAt === undefined && !isForeign(id));

  /** Finishes the summary that a session writes, if it writes one. Returns whether what was asked meanwhile is answered then. */
  const endSummary = (found: FakeSession): boolean => {
    const summary = unfinishedSummary(found);
    if (!summary) return false;
    const { messages, id } = found;
    const finished = { ...summary, completedAt: clock.now(), finish: "stop", text: `the summary of ${id}` };
    found.messages = messages.map((other) => (other === summary ? finished : other));
    tell(found, finished);
    emit({ type: "compacted", sessionID: id });
    const isAsked = messages.some(
      ({ role, createdAt, id: messageID }, place) =>
        role === "user" &&
        createdAt >= summary.createdAt &&
        place > messages.indexOf(summary) &&
        !isNote(found, messageID),
    );
    const isOwn = compacting.delete(summary.id);
    if (isOwn) {
      found.messages.push(message({ role: "user", text: "go on" }));
      tell(found);
    }
    if (isOwn || isAsked) begin(found);
    else goIdle(found);
    const isAnswered = !isOwn && isAsked && found.habits[0] === "reply";
    if (isAnswered) finish(id, "ok");
    return isAnswered;
  };

  /** True for a message that asks nobody. */
  const isNote = ({ prompts }: FakeSession, id: string): boolean =>
    prompts.some(({ messageID, noReply }) => messageID === id && noReply === true);

  const compact = (id: string, { ms = 0, overflow = false } = {}) => {
    const found = session(id);
    if (unfinishedSummary(found)) return;
    const isOwn = found.busy;
    if (isOwn && overflow) emit({ type: "error", sessionID: id, error: OVERFLOW });
    if (isOwn) change(found, { completedAt: clock.now(), finish: "tool-calls", tools: "called" });
    const request = message({ role: "user" });
    found.messages.push(request);
    tell(found);
    found.busy = true;
    emit({ type: "busy", sessionID: id });
    const summary = message({ role: "assistant", promptID: request.id, isSummary: true });
    found.messages.push(summary);
    if (isOwn) compacting.add(summary.id);
    tell(found);
    const end = () => {
      if (sessions.get(id) === found && found.busy && unfinishedSummary(found)?.id === summary.id) endSummary(found);
    };
    if (ms === 0) end();
    else clock.after(ms, end);
  };

  /** The provider takes the request that it refused before. */
  const answerRefused = (found: FakeSession) => {
    if (found.refusal?.request !== found.messages.at(-1)?.id) return;
    found.refusal?.stopWaiting?.();
    found.refusal = undefined;
    emit({ type: "answering", sessionID: found.id });
  };

  const finish = (id: string, text: string, { idles = 1, unwritten = false, unseen = false } = {}) => {
    const found = session(id);
    if (!found.busy) begin(found);
    if (endSummary(found)) return;
    if (!found.busy) begin(found);
    answerRefused(found);
    const told = listener;
    if (unwritten) listener = () => undefined;
    if (!unseen || !finishBegun(found, text)) change(found, { completedAt: clock.now(), finish: "stop", text });
    listener = told;
    goIdle(found, idles);
  };

  const step: FakeHost["step"] = (id, given = { finish: "tool-calls", tools: "called", text: "" }) => {
    const found = session(id);
    answerRefused(found);
    endMessage(found, given);
    begin(found);
  };

  const fail = (id: string, error: HostError) => {
    const found = session(id);
    if (!found.busy) begin(found);
    emit({ type: "error", sessionID: id, error });
    goIdle(found);
    endMessage(found, { error });
    goIdle(found);
  };

  const goOnAfterError = (id: string, error: HostError, { idle = false } = {}) => {
    emit({ type: "error", sessionID: id, error });
    if (idle) emit({ type: "idle", sessionID: id });
    emit({ type: "busy", sessionID: id });
  };

  const breakOff = (id: string) => {
    const found = session(id);
    change(found, { completedAt: clock.now(), finish: "tool-calls", tools: "called" });
    goIdle(found);
  };

  const refuseForNow = (id: string, ms: number) => {
    const found = session(id);
    const request = found.messages.at(-1)?.id;
    const attempt = found.refusal && found.refusal.request === request ? found.refusal.attempt + 1 : 1;
    emit({ type: "retrying", sessionID: id, attempt, message: "slow down", until: clock.now() + ms });
    found.refusal?.stopWaiting?.();
    const stopWaiting = clock.after(ms, () => {
      const isSame = found.refusal?.request === request && found.refusal?.attempt === attempt;
      if (isSame && sessions.get(id) === found && found.busy) emit({ type: "busy", sessionID: id });
    });
    found.refusal = { request, attempt, stopWaiting };
  };

  /** What was taken back is deleted for good by the next message, whoever writes it. */
  const deleteReverted = (found: FakeSession) => {
    const { revertedTo } = found;
    if (revertedTo === undefined) return;
    found.messages = found.messages.slice(
      0,
      found.messages.findIndex(({ id }) => id === revertedTo),
    );
    found.revertedTo = undefined;
    emitSession(found.id);
  };

  /** The model answers after its time. What was asked meanwhile gets a step of its own after that, as in the real host. */
  const reply = (found: FakeSession) => {
    if (replyTime === 0 || found.parentID !== undefined) return finish(found.id, "ok");
    begin(found);
    const goOn = () => {
      if (sessions.get(found.id) !== found || !found.busy) return;
      if (!finishBegun(found, "ok")) return void finish(found.id, "ok");
      begin(found);
      clock.after(replyTime, goOn);
    };
    clock.after(replyTime, goOn);
  };

  const beginTurn = (id: string) => {
    const found = session(id);
    deleteReverted(found);
    found.messages.push(message({ role: "user", text: "and another thing" }));
    tell(found);
    begin(found);
  };

  const take = (found: FakeSession, { messageID, parts, noReply, agent }: Prompt) => {
    const stored = found.messages.find(({ id }) => id === messageID);
    // Only the newest answer keeps a message from being answered again, as in the real host.
    const newest = found.messages.findLast(({ role }) => role === "assistant");
    const answered = newest?.promptID === messageID && newest.finish !== undefined && newest.finish !== "tool-calls";
    const habit = (found.habits.length > 1 ? found.habits.shift() : found.habits[0]) ?? "work";
    // A message that is only stored is confirmed once it is stored: it cannot be lost after that.
    if (habit === "lose" && !noReply) return;
    const hasAgent = agent === undefined || agentList.some(({ name }) => name === agent);
    if (habit === "reject" || !hasAgent) {
      const error = { name: "UnknownError", message: "agent not found" };
      emit({ type: "error", sessionID: found.id, error });
      emit({ type: "error", sessionID: found.id, error });
      return;
    }
    deleteReverted(found);
    if (!stored || !found.messages.includes(stored)) {
      found.messages.push(message({ role: "user", id: messageID, text: textOf(parts) }));
      found.parts.set(messageID, parts);
      tell(found);
    } else if (!answered) {
      // A message that is sent again keeps its place but becomes the newest: the host gives it another time.
      found.messages = found.messages.map((other) =>
        other === stored ? { ...stored, createdAt: clock.now() } : other,
      );
    }
    if (habit === "mute" || noReply) return;
    if (answered || found.busy || (habit === "ignore" && !stored)) return;
    if (habit === "reply") reply(found);
    else begin(found);
  };

  return {
    get requestCost() {
      return requestCost;
    },
    set requestCost(cost) {
      requestCost = cost;
    },
    get agentList() {
      return agentList;
    },
    set agentList(agents) {
      agentList = agents;
    },
    modelList,
    calls,
    attempts,
    toasts,
    rejected,
    answers,
    openRequests,
    addSession: (id, { habit = "reply", ...given } = {}) => add(id, { ...given, habits: [habit] }),
    at: session,
    sessionIDs: () => [...sessions.keys()],
    habits: (id, ...habits) => {
      session(id).habits = habits;
    },
    childHabits: (...habits) => {
      childHabits = habits;
    },
    repliesAfter: (ms) => {
      replyTime = ms;
    },
    failNext: (name, failure, times = 1) => {
      failures.set(name, [...(failures.get(name) ?? []), ...Array.from({ length: times }, () => failure)]);
    },
    throwNext: (name, text) => {
      failures.set(name, [...(failures.get(name) ?? []), new Error(text)]);
    },
    holdNext: (name) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      holds.set(name, [...(holds.get(name) ?? []), promise]);
      return { release: resolve };
    },
    emit,
    emitSession,
    finish,
    step,
    refuseForNow,
    fail,
    goOnAfterError,
    breakOff,
    compact,
    beginStep: (id, messageID) => {
      const found = session(id);
      const newest = found.messages.at(-1);
      if (!newest || newest.finish === "stop" || newest.error) {
        found.messages.push(message({ role: "user", text: "have it done" }));
        tell(found);
      }
      const promptID = newestPrompt(found)?.id;
      found.messages.push(message({ role: "assistant", id: messageID, promptID }));
      tell(found);
      return () => {
        found.messages = found.messages.map((step) =>
          step.id === messageID ? { ...step, completedAt: clock.now(), finish: "tool-calls", tools: "called" } : step,
        );
      };
    },
    converse: (id) => {
      beginTurn(id);
      finish(id, "I see.");
    },
    beginTurn,
    abortByPerson: (id) => fail(id, { name: "MessageAbortedError", message: "Aborted" }),
    revert: (id, messageID) => {
      const found = session(id);
      if (found.busy) throw new Error(`a session that is busy, as ${id}, cannot be reverted`);
      found.revertedTo = messageID;
      emitSession(id);
    },
    unrevert: (id) => {
      session(id).revertedTo = undefined;
      emitSession(id);
    },
    archive: (id, archived = true) => {
      const found = session(id);
      if (archived) found.archivedAt = clock.now();
      else delete found.archivedAt;
      emitSession(id);
    },
    delete: remove,
    crash: () => {
      listener = () => undefined;
      haunted.clear();
      openRequests.clear();
      for (const found of sessions.values()) found.busy = false;
    },
    listen: (to) => {
      listener = to;
    },

    agents: () => call("agents", () => ok(agentList)),
    models: () => call("models", () => ok(modelList)),
    session: (id) => call("session", () => (sessions.has(id) ? ok(publicPart(session(id))) : notFound("session"))),
    createSession: (given) =>
      call("createSession", () => {
        const id = createSessionID();
        const { directory, ...rest } = given;
        const place = directory === undefined ? {} : { directory };
        add(id, { ...rest, ...place, habits: [...childHabits], created: given });
        emitSession(id, true);
        return ok({ id });
      }),
    fork: (id, messageID) =>
      call("fork", () => {
        if (!sessions.has(id)) return notFound("session");
        const forked = createSessionID();
        const { messages, title, metadata } = session(id);
        const end = messages.findIndex((stored) => stored.id === messageID);
        add(forked, {
          forkOf: id,
          agent: undefined,
          model: undefined,
          habits: [...childHabits],
          title: `${title} (fork #1)`,
          metadata: { ...metadata },
        });
        session(forked).messages = (end < 0 ? messages : messages.slice(0, end)).map((stored) => ({ ...stored }));
        emitSession(forked, true);
        return ok({ id: forked });
      }),
    forkedMessages: (id) =>
      call("forkedMessages", () =>
        sessions.has(id)
          ? ok(
              session(id).messages.map((stored) => ({
                id: stored.id,
                role: stored.role,
                isSummary: stored.isSummary,
                parts: [
                  {
                    id: `prt_${stored.id}`,
                    kind: stored.toolResult ? ("toolResult" as const) : ("text" as const),
                    text: stored.text,
                    uncuttableText: "",
                    attachments: 0,
                    raw: undefined,
                  },
                ],
              })),
            )
          : notFound("session"),
      ),
    rewritePart: (id, messageID, part) =>
      call("rewritePart", () => {
        const found = session(id);
        found.messages = found.messages.map((stored) =>
          stored.id === messageID ? { ...stored, text: part.text } : stored,
        );
        return ok(undefined);
      }),
    deleteMessage: (id, messageID) =>
      call("deleteMessage", () => {
        const found = session(id);
        found.messages = found.messages.filter((stored) => stored.id !== messageID);
        return ok(undefined);
      }),
    updateSession: (id, changes) =>
      call("updateSession", () => {
        Object.assign(session(id), changes);
        return ok(undefined);
      }),
    deleteSession: (id) =>
      call("deleteSession", () => {
        remove(id);
        return ok(undefined);
      }),
    children: (id) =>
      call("children", () =>
        sessions.has(id)
          ? ok([...sessions.values()].filter(({ parentID }) => parentID === id).map((child) => child.id))
          : notFound("session"),
      ),
    prompt: (prompt) => {
      attempts.push(prompt);
      return call("prompt", () => {
        const found = sessions.get(prompt.sessionID);
        if (!found) return notFound("session");
        found.prompts.push(prompt);
        // As in the host, the answer comes first and the work after it.
        queueMicrotask(() => sessions.has(prompt.sessionID) && take(found, prompt));
        return ok(undefined);
      });
    },
    storeMessage: (given) => {
      attempts.push(given);
      return call("storeMessage", () => {
        const found = sessions.get(given.sessionID);
        if (!found) return notFound("session");
        const stored = { ...given, noReply: true };
        found.prompts.push(stored);
        take(found, stored);
        // Other than a prompt, it is answered when it is stored.
        const isStored = found.messages.some(({ id }) => id === given.messageID);
        return isStored ? ok(undefined) : { ok: false, failure: unavailable };
      });
    },
    moveSession: (id, directory) =>
      call("moveSession", () => {
        const found = sessions.get(id);
        if (!found) return notFound("session");
        found.directory = directory;
        return ok(undefined);
      }),
    closeDirectory: () => call("closeDirectory", () => ok(undefined)),
    abort: (id) =>
      call("abort", () => {
        const found = sessions.get(id);
        haunted.delete(id);
        if (found?.busy) fail(id, { name: "MessageAbortedError", message: "Aborted" });
        else emit({ type: "idle", sessionID: id });
        return ok(undefined);
      }),
    busy: () =>
      call("busy", () =>
        ok(new Set([...haunted, ...[...sessions.values()].filter(({ busy }) => busy).map(({ id }) => id)])),
      ),
    messages: (id, limit) =>
      call("messages", () => (sessions.has(id) ? ok(session(id).messages.slice(-limit)) : notFound("session"))),
    conversation: (id) =>
      call("conversation", () =>
        sessions.has(id)
          ? ok(
              session(id).messages.map(({ id: messageID, role, text }) => ({
                id: messageID,
                role,
                parts: [{ kind: "text", text } as const],
              })),
            )
          : notFound("session"),
      ),
    sessionsSince: (at) =>
      call("sessionsSince", () =>
        ok(
          [...sessions.values()]
            .filter(({ madeAt }) => madeAt >= at)
            .map((found) => ({ ...found, createdAt: found.madeAt })),
        ),
      ),
    allSessions: () => call("allSessions", () => ok(new Set(sessions.keys()))),
    toolCall: (id, callID) =>
      call("toolCall", () => {
        const stage = sessions.get(id)?.toolCalls.get(callID);
        return stage ? ok(stage) : notFound("tool call");
      }),
    runEvents: (id, messageID) =>
      call("runEvents", () => {
        const found = sessions.get(id);
        if (!found) return notFound("session");
        const prompt = found.messages.findIndex((stored) => stored.id === messageID);
        const since = found.messages[prompt]?.createdAt;
        if (since === undefined) return ok([]);
        const messages = found.messages.slice(prompt);
        return ok([
          ...messages.map(({ text: _, ...message }) => ({ type: "message", sessionID: id, message }) as const),
          ...found.reported.filter(({ at }) => at >= since).map(({ event }) => event),
        ]);
      }),
    rawMessages: (id) =>
      call("rawMessages", () => (sessions.has(id) ? ok([...session(id).messages]) : notFound("session"))),
    message: (id, messageID) =>
      call("message", () => {
        const found = sessions.get(id)?.messages.find((stored) => stored.id === messageID);
        const parts = sessions.get(id)?.parts.get(messageID) ?? [];
        return found ? ok({ ...found, partIDs: parts.map((part) => part.id) }) : notFound("message");
      }),
    answerUserRequest: ({ id }, { reply, answers: given }) =>
      call("answerUserRequest", () =>
        settleRequest(id, { ...(reply ? { reply } : {}), ...(given ? { answers: given } : {}) }),
      ),
    // As in the real host: with a message the child continues, without one its turn ends.
    rejectUserRequest: ({ id, kind }, message) =>
      call("rejectUserRequest", () => {
        rejected.push(id);
        const isQuestion = kind === "question";
        return settleRequest(id, { reply: "reject", ...(isQuestion ? {} : { message }) }, isQuestion);
      }),
    toast: (toast) =>
      call("toast", () => {
        toasts.push(toast);
        return ok(undefined);
      }),
  };
};
