import type { Recovery, TaskEvent, TaskInput } from "../../src/machines/task/events.ts";
import { lifecyclePath, type StoredSnapshot, type TaskSnapshot } from "../../src/machines/task/machine.ts";
import type { LimitedRequest } from "../../src/machines/task/slot-queue.ts";
import type { HostMessage } from "../../src/services/host/host.ts";
import { STEPS_WITHOUT_END } from "../../src/services/runtime/run-outcome.ts";
import type { Store, TaskRecord } from "../../src/services/store/store.ts";
import type { TaskFacts } from "../../src/task.ts";
import { createDisk } from "../fakes/disk.ts";
import { missing, unavailable } from "../fakes/fake-host.ts";
import { createStage, PARENT, type Stage } from "../fakes/stage.ts";
import { createVirtualClock, settled } from "../fakes/virtual-clock.ts";
import { createScriptedFleet } from "./scripted-fleet.ts";
import { answer, createScriptedHost, type ScriptedHost } from "./scripted-host.ts";
import { FALLBACK } from "./task-events.ts";

type Of<Type extends TaskEvent["type"]> = Extract<TaskEvent, { type: Type }>;

/** What a store was told of a task, also when the task is gone again. */
interface Recorded {
  origin: TaskInput | undefined;
  journal: TaskEvent[];
  newest: StoredSnapshot | undefined;
}

/** What the test decides of a store. */
interface Rigging {
  /** Whether the prompts of a process that is gone are not found. */
  losesPrompts: boolean;
  /** Whether the task is given a slot when it asks. Tasks of its own never are. */
  hasSlot: boolean;
}

/** Writes down what is committed of the task that is walked: the one that no other task launched. */
const recording = (
  store: Store,
  recorded: Recorded,
  rigging: Rigging,
  refused = new Map<string, LimitedRequest>(),
): Store => ({
  ...store,
  commit: (change) => {
    const own = ({ task }: TaskRecord) => task.parentTaskId !== undefined;
    const ids = new Set(change.records.filter((record) => !own(record)).map(({ task }) => task.sessionID));
    recorded.journal.push(...change.journal.flatMap(({ taskId, event }) => (ids.has(taskId) ? event : [])));
    recorded.newest = change.records.findLast((record) => !own(record))?.snapshot ?? recorded.newest;
    // What is stored first is the launch.
    if (!recorded.origin && recorded.newest) {
      const { facts, run } = recorded.newest.context;
      recorded.origin = { facts, run };
    }
    return store.commit(change);
  },
  grantSlots: (requests) => {
    const own = requests.filter(({ taskId }) => !store.get(taskId)?.task.parentTaskId);
    if (rigging.hasSlot) return store.grantSlots(own);
    for (const request of own) refused.set(request.taskId, request);
    return [];
  },
  startQueued: (isWanted) => {
    if (!rigging.hasSlot) return [];
    const granted = store.grantSlots([...refused.values()].filter(({ taskId }) => isWanted(taskId)));
    for (const taskId of granted) refused.delete(taskId);
    return granted;
  },
  adopt: (now, wants) => {
    const abandoned = store.adopt(now, wants);
    return rigging.losesPrompts ? { ...abandoned, prompts: [] } : abandoned;
  },
});

/** Brings about in the engine what a chart's event stands for: by a tool call, by what the host does or says, by time. */
export interface TaskDriver {
  stage: Stage;
  /** `before` is the snapshot that the event comes in. Resolves when everything that follows has happened. */
  drive(event: TaskEvent, before: TaskSnapshot): Promise<void>;
  /** What the engine stored of the task. */
  recorded: Recorded;
  end(): void;
}

const STALE = 600_000;
/** The stage's `loop.repeat`. */
const REPEAT = 20;
/** The pause after which a task that waits for a slot asks again. */
const ASK_AGAIN = 1_000;
const ok = <T>(value: T) => ({ ok: true, value }) as const;
const failed = { ok: false, failure: unavailable } as const;

const neverSent = () => {
  throw new Error("the chart raises this by itself");
};

/** So that no deadline of a chart falls together with one of the engine's own rounds. */
const ODD = 137;

export const createTaskDriver = async (
  recovery: Recovery,
  { gate, schema, fallback, fleet: offer }: Pick<TaskFacts, "gate" | "schema" | "fallback" | "fleet">,
): Promise<TaskDriver> => {
  const disk = createDisk();
  const clock = createVirtualClock();
  const host: ScriptedHost = createScriptedHost(clock, (taskId) => stage.task(taskId).completedAt !== undefined);
  const recorded: Recorded = { origin: undefined, journal: [], newest: undefined };
  const rigging: Rigging = { losesPrompts: false, hasSlot: false };
  const openStore = () => recording(disk.boot(clock), recorded, rigging);
  const { after, models } = FALLBACK;
  const fleet = offer && createScriptedFleet(clock, host.gates, offer);
  const stage = createStage({
    ...(fleet ? { fleet: fleet.membership } : {}),
    clock,
    host,
    recovery,
    openStore,
    fallback: { after, agents: fallback ? { general: models } : {} },
    gate: {
      agents: gate ? { general: gate.command } : {},
      tries: gate?.tries ?? 0,
      timeout: gate?.timeout ?? 0,
      before: gate?.before ?? false,
    },
    schema: { agents: schema ? { general: schema } : {} },
    runCommand: () => host.gates.wait("command"),
  });
  await clock.advance(ODD);
  let toolCalls = 0;
  let steps = 0;
  let faults = 0;
  const id = await stage.launch();
  host.letRead(false);
  /** The tool calls of this life that wait, and those whose answer is on its way into the conversation. */
  let calls = new Map<string, AbortController>();
  /** A task that the child launched. It waits for a slot for as long as it is there. */
  let ownTask: string | undefined;
  let ownCall: AbortController | undefined;

  const inBackground = (work: Promise<unknown>) => void work.catch(() => undefined);
  const look = (messages: HostMessage[]) => {
    host.script(messages);
    host.gates.open("look", ok(new Set()));
  };
  const runID = (snapshot: TaskSnapshot) =>
    stage.store.get(id)?.snapshot.context.run.messageID ?? snapshot.context.run.messageID;
  /** The newest message that the run's model is to answer. */
  const promptID = (snapshot: TaskSnapshot) =>
    stage.store.get(id)?.snapshot.context.storedInstruction?.messageID ?? runID(snapshot);

  /** Ends a call that waited for the task: its answer is stored in the conversation, or not. */
  const settleCall = (call: string, end: "stored" | "failed") => {
    const inThisLife = calls.has(call);
    calls.delete(call);
    if (inThisLife) host.emit({ type: "toolCall", sessionID: PARENT, callID: call, tool: "output", stage: end });
    else host.gates.open(`toolCall ${call}`, ok(end));
  };

  const launchOwn = async (): Promise<string> => {
    if (ownTask !== undefined) return ownTask;
    host.letRead(true);
    ownTask = await stage.launch({}, { sessionID: id });
    host.letRead(false);
    return ownTask;
  };

  const endOwn = async () => {
    if (ownTask === undefined) return;
    const taskIds = [ownTask];
    ownTask = undefined;
    await stage.engine.clear(taskIds);
  };

  /** The home reads what its agent may do, to order its run. */
  const openOrder = () => host.gates.open("read", ok({ id: PARENT, permission: [] }));

  /** The host finds the child idle, with nothing left that it waits for. */
  const lookAlone = async (messages: HostMessage[]) => {
    await endOwn();
    look(messages);
  };

  const goOn = async (args: { resume: string; prompt: string } | { retry: string }, before: TaskSnapshot) => {
    // The engine itself begins a run that was asked for before.
    if (before.value.nextRun === "none") await stage.call("task", args);
    await settled();
    if (before.context.remote) openOrder();
  };

  const acts: { [Type in TaskEvent["type"]]: (event: Of<Type>, before: TaskSnapshot) => unknown } = {
    SLOT_GRANTED: async () => {
      rigging.hasSlot = true;
      await clock.advance(ASK_AGAIN);
      rigging.hasSlot = false;
    },
    PROMPT_ACCEPTED: () => host.gates.open(`prompt ${id}`, ok(undefined)),
    PROMPT_REFUSED: ({ retryable }) => {
      const kind = retryable ? "unavailable" : "refused";
      host.gates.open(`prompt ${id}`, { ok: false, failure: { ...unavailable, kind } });
    },
    SUPERVISION_FAILED: (_, before) =>
      host.gates.fail(before.matches({ run: "fleet" }) ? "job" : `prompt ${id}`, new Error("a fault of ours")),
    HOST_BUSY: () => host.emit({ type: "busy", sessionID: id }),
    HOST_RETRYING: ({ at, attempt, message, until }) =>
      host.emit({ type: "retrying", sessionID: id, attempt, message, until: clock.now() + until - at }),
    HOST_ANSWERING: () => host.emit({ type: "answering", sessionID: id }),
    HOST_IDLE: () => host.emit({ type: "idle", sessionID: id }),
    STEPS_WITHOUT_END: (_, before) => {
      for (let step = 0; step < STEPS_WITHOUT_END; step += 1) {
        steps += 1;
        const { text: __, ...message } = answer(promptID(before), { id: `msg_step_${steps}`, finish: "unknown" });
        host.emit({ type: "message", sessionID: id, message });
      }
    },
    HOST_ERROR: ({ error }) => host.emit({ type: "error", sessionID: id, error }),
    SESSION_NOT_FOUND: () => host.gates.open(`prompt ${id}`, { ok: false, failure: missing }),
    SESSION_DELETED: () => host.emit({ type: "deleted", sessionID: id }),
    CHECKED_BUSY: () => host.gates.open("look", ok(new Set([id]))),
    CHECKED_AWAITING_TASKS: async (_, before) => {
      await launchOwn();
      look([answer(promptID(before), { finish: "stop", text: "I wait." })]);
    },
    CALL_BLOCKED: async ({ call }) => {
      const args = { task_id: await launchOwn(), block: true, timeout: STALE };
      ownCall = new AbortController();
      inBackground(stage.call("output", args, { sessionID: id, callID: call, abort: ownCall.signal }));
    },
    CALL_RETURNED: () => ownCall?.abort(),
    OWN_TASK_ENDED: endOwn,
    CHECKED_ANSWERED: ({ result }, before) => lookAlone([answer(promptID(before), { finish: "stop", text: result })]),
    CHECKED_FAILED: ({ error: { name, message, refusal } }, before) =>
      look([
        answer(promptID(before), {
          error: { name, message, ...(refusal ? { refusal } : {}) },
          completedAt: clock.now(),
        }),
      ]),
    // Each in a step of its own.
    CHECKED_HOST_FAULT: ({ error: { name, message } }, before) => {
      faults += 1;
      look([answer(promptID(before), { error: { name, message, fault: "host" }, completedAt: clock.now() + faults })]);
    },
    CHECKED_ABORTED: (_, before) =>
      look([answer(promptID(before), { error: { name: "MessageAbortedError", message: "Aborted" } })]),
    CHECKED_UNANSWERED: () => look([]),
    CHECKED_UNSEEN: (_, before) => look([answer(runID(before), { finish: "stop", text: "12" })]),
    CHECKED_NOT_FOUND: () => host.gates.open("look", { ok: false, failure: missing }),
    CHECK_FAILED: () => host.gates.open("look", failed),
    PAUSE: ({ by }) => (by === "provider" ? clock.advance(5_000) : inBackground(stage.engine.pause([id], by))),
    CONTINUE: () => stage.engine.continue([id]),
    CANCEL: () => inBackground(stage.call("cancel", { task_id: id })),
    STOPPED: async () => {
      host.letStop(true);
      host.gates.open(`stop ${id}`, ok(undefined));
      await settled();
      host.letStop(false);
    },
    NOT_STOPPED: async () => {
      host.letStop(true);
      host.gates.open(`stop ${id}`, failed);
      await settled();
      host.letStop(false);
    },
    MODEL_CHANGED: async () => {
      host.letStop(true);
      host.gates.open(`stop ${id}`, ok(undefined));
      await settled();
      host.letStop(false);
    },
    JOB_ENQUEUED: () => host.gates.open("job", { is: "stored" }),
    JOB_REFUSED: ({ retryable, error: { message } }) =>
      host.gates.open("job", { is: retryable ? "unavailable" : "refused", message }),
    REMOTE_CLAIMED: ({ replaces }, before) => fleet?.claim(id, replaces && before.context.remote?.claim),
    REMOTE_ENDED: ({ outcome, result, receipt }) => fleet?.end(id, { outcome, result, receipt }),
    REMOTE_LOST: (_, before) =>
      fleet?.lose(async () => {
        await settled();
        // To ask for the order of a run that nobody has begun, the home reads what its agent may do.
        if (!before.context.remote?.attempts.length) openOrder();
        await settled();
      }),
    REMOTE_HELD: () => fleet?.goOn(id, settled),
    CLOSED: (_, before) => {
      const isClosing =
        before.matches({ run: { fleet: { stopping: "closing" } } }) ||
        before.matches({ run: { fleet: { unclaimed: "withdrawing" } } });
      return isClosing ? host.gates.open("close", undefined) : fleet?.close(id);
    },
    // As often as a loop takes. The one before may have ended another run.
    LIMIT_EXCEEDED: () => {
      for (let call = 0; call < REPEAT; call += 1) {
        toolCalls += 1;
        const callID = `call_loop_${toolCalls}`;
        host.emit({ type: "toolCall", sessionID: id, callID, tool: "bash", stage: "begun", input: "ls" });
      }
    },
    RESUME: ({ prompt }, before) => goOn({ resume: id, prompt }, before),
    RETRY: (_, before) => goOn({ retry: id }, before),
    NEXT_RUN_ASKED: async ({ begins, prompt }) => {
      // The outbox may wait for the same.
      host.letRead(true);
      await stage.call("task", begins === "RESUME" ? { resume: id, prompt } : { retry: id });
      host.letRead(false);
    },
    STEER: ({ prompt }) => stage.call("task", { steer: id, prompt }),
    STEERING_STORED: () => host.gates.open(`steer ${id}`, ok(undefined)),
    STEERING_REFUSED: ({ retryable }) => {
      const kind = retryable ? "unavailable" : "refused";
      host.gates.open(`steer ${id}`, { ok: false, failure: { ...unavailable, kind } });
    },
    INSTRUCTION_SEEN: (_, before) => {
      const { text: __, ...message } = answer(promptID(before), { completedAt: undefined });
      host.emit({ type: "message", sessionID: id, message });
    },
    TICK: (_, before) => {
      const nextDeadline = stage.store.get(id)?.snapshot.context.nextDeadline ?? before.context.nextDeadline ?? 0;
      return clock.advance(nextDeadline - clock.now());
    },
    // The engine itself says so with the end.
    RECEIPT_INCOMPLETE: () => undefined,
    GATE_ENDED: ({ end }) => host.gates.open("command", end),
    GATE_ENDED_BEFORE: ({ end }) => host.gates.open("command", { ...end, output: "" }),
    RECEIPT_WRITTEN: () => host.gates.open(`receipt ${id}`, ok([])),
    RESULT_READ: () => stage.call("output", { task_id: id }),
    ADOPTED: async ({ isNoticePending }, { value: { notice } }) => {
      rigging.losesPrompts = notice === "sending" && !isNoticePending;
      calls = new Map();
      host.gates.clear();
      await stage.restart();
      await clock.advance(60);
    },
    RUN_BEGAN: neverSent,
    RUN_ENDED: neverSent,
    WAIT_BEGAN: ({ call }) => {
      const turn = new AbortController();
      calls.set(call, turn);
      const args = { task_id: id, block: true, timeout: STALE };
      inBackground(stage.call("output", args, { callID: call, abort: turn.signal }));
    },
    WAIT_ABANDONED: ({ call }, before) => {
      const turn = calls.get(call);
      if (!turn || before.context.completedAt !== undefined) return settleCall(call, "failed");
      calls.delete(call);
      turn.abort();
    },
    WAIT_DELIVERED: ({ call }) => settleCall(call, "stored"),
    NOTICE_COMPOSED: () => host.gates.open("read", ok({ id: PARENT, agent: "build", model: undefined })),
    NOTICE_ACKNOWLEDGED: () => {
      const promptID = host.notice().messageID;
      if (host.gates.waiting("send") > 0) host.gates.open("send", ok(undefined));
      const { text: _, ...seen } = answer(promptID, { completedAt: undefined });
      host.emit({ type: "message", sessionID: PARENT, message: seen });
    },
    NOTICE_DROPPED: () => host.emit({ type: "deleted", sessionID: PARENT }),
    REQUEST_ASKED: ({ request }) => host.emit({ type: "asked", sessionID: id, request }),
    REQUEST_ANSWERED: ({ id: requestID }) => host.emit({ type: "replied", sessionID: id, requestID }),
    BECAME_STALE: () => clock.advance(STALE * 1.25),
    ACTIVITY_SEEN: () => {
      host.emit({ type: "busy", sessionID: id });
      return clock.advance(STALE / 4);
    },
  };

  return {
    stage,
    drive: async (event, before) => {
      await (acts[event.type] as (event: TaskEvent, before: TaskSnapshot) => unknown)(event, before);
      await settled();
      await settled();
    },
    recorded,
    end: () => {
      stage.engine.stop();
      disk.remove();
    },
  };
};

/** What must be the same in the chart that is walked and in the engine: all but ids, times and texts. */
export const comparable = ({ value, context }: StoredSnapshot) => {
  const {
    run,
    instructions,
    storedInstruction,
    steerAttempts,
    sendAttempts,
    stopAttempts,
    checkId,
    failedChecks,
    idleHinted,
    nextDeadline,
    userRequests: requests,
    waiters,
    interruptions,
    blockedCalls = [],
    retry,
    model,
    refusedModels,
    gate,
    gateBefore,
    misfits,
    endedInChecks,
    completedAt,
    error,
    remote,
    pause,
  } = context;
  return {
    value,
    state: lifecyclePath({ value, context }),
    counts: { run: run.index, sendAttempts, stopAttempts, checkId, failedChecks, interruptions },
    steering: { pending: instructions?.length, isSteered: storedInstruction !== undefined, steerAttempts },
    idleHinted,
    models: { inUse: model?.modelID, refused: refusedModels?.length },
    refusedFor: retry && { attempt: retry.attempt, message: retry.message },
    isMissing: context.missingSince !== undefined,
    waits: nextDeadline !== undefined,
    requests: requests.map(({ id }) => id),
    waiters,
    blockedCalls: blockedCalls.map(({ call }) => call),
    gate: gate && { runs: gate.runs, failures: gate.failures, end: gate.last?.end },
    gateBefore,
    misfits,
    endedInChecks,
    remote: remote?.attempts.length,
    pause: pause && { by: pause.by, attempts: pause.attempts, wasSent: pause.wasSent },
    hasEnded: completedAt !== undefined,
    error: error?.kind,
  };
};
