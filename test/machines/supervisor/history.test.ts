import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { initialTransition, transition } from "xstate";
import type { HostEvent, MessageInfo } from "../../../src/machines/host-events.ts";
import type { LaunchEvent } from "../../../src/machines/launch/events.ts";
import type { NoticePrompt, OutboxEvent } from "../../../src/machines/outbox/events.ts";
import type { ActorEffect, SupervisorEvent } from "../../../src/machines/supervisor/events.ts";
import {
  launchActorId,
  launchOfActor,
  outboxId,
  parentOfOutbox,
  supervisorMachine,
} from "../../../src/machines/supervisor/machine.ts";
import type { TaskEvent } from "../../../src/machines/task/events.ts";
import { initialSnapshot } from "../../../src/machines/task/machine.ts";
import { START, taskInput } from "../../fakes/task-input.ts";
import { createSupervisorHistory, type Deed } from "../../model/supervisor-history.ts";
import type { SupervisorStep } from "../../model/supervisor-paths.ts";
import { transitionsOf } from "../../model/transitions.ts";
import { pureRuns } from "../../seed.ts";
import { endOf, promptOf } from "../outbox/driven-outbox.ts";

type Machine = typeof supervisorMachine;

/** Each task is the parent of the next one, and the first is a person's. */
const SESSIONS = ["ses_person", "ses_1", "ses_2", "ses_3"] as const;
const ELSEWHERE = "ses_elsewhere";

const oneOf = <Item>(choice: number, first: Item, ...others: Item[]): Item =>
  [first, ...others][choice % (others.length + 1)] ?? first;

const session = fc.constantFrom(...SESSIONS, ELSEWHERE);
const task = fc.integer({ min: 1, max: SESSIONS.length - 1 }).map((place) => {
  const [sessionID = "", parentSessionID = ""] = [SESSIONS[place], SESSIONS[place - 1]];
  return taskInput(sessionID, { parentSessionID, ...(place > 1 ? { parentTaskId: parentSessionID } : {}) });
});
const at = fc.nat({ max: 5 }).map((seconds) => START + seconds * 1_000);
const error = fc.constantFrom("401", "aborted").map((message) => ({ name: "APIError", message }));

const message = fc.record<MessageInfo>({
  id: fc.constantFrom("msg_1", "msg_2"),
  role: fc.constantFrom("user", "assistant"),
  createdAt: at,
  promptID: fc.constantFrom("msg_1", undefined),
  completedAt: fc.constant(undefined),
  finish: fc.constant(undefined),
  error: fc.constant(undefined),
  isSummary: fc.boolean(),
});

const request = { id: "per_1", kind: "permission", what: "ls", since: START } as const;

/** Everything that the host may tell of a session. */
const hostEvent = fc
  .tuple(session, error, message, fc.nat())
  .map(([sessionID, failure, info, choice]) =>
    oneOf<HostEvent>(
      choice,
      { type: "busy", sessionID },
      { type: "retrying", sessionID, attempt: 2, message: "slow down", until: START },
      { type: "answering", sessionID },
      { type: "idle", sessionID },
      { type: "error", sessionID, error: failure },
      { type: "deleted", sessionID },
      { type: "compacted", sessionID },
      { type: "message", sessionID, message: info },
      { type: "message", sessionID, message: info },
      { type: "message", sessionID, message: info },
      { type: "text", sessionID, messageID: "msg_1", partID: "prt_1", text: "so" },
      { type: "asked", sessionID, request },
      { type: "replied", sessionID, requestID: request.id },
      { type: "step", sessionID, partID: "prt_1", tokens: 1, cost: 0 },
    ),
  );

const runs = fc.array(session, { maxLength: 3 }).map((ids) => ids.map((taskId, run) => ({ taskId, run })));

const launchId = fc.constantFrom("msg_1", "msg_2", "msg_1/left");
const pending = { messageID: "msg_1", parentSessionID: "ses_person", at: START, fork: true };
const left = { pending, isFinal: false, tries: 1, dueAt: START };

/** What a task, an outbox or a launch may want done. */
const effect = fc
  .tuple(session, session, runs, fc.nat())
  .map(([taskId, parentSessionID, told, choice]) =>
    oneOf<ActorEffect>(
      choice,
      { type: "reportEnd", taskId, parentTaskId: parentSessionID },
      { type: "queueNotice", end: { ...endOf(taskId), parentSessionID } },
      { type: "withdrawNotice", taskId, parentSessionID, run: 1 },
      { type: "noticeComposed", parentSessionID, runs: told },
      { type: "noticeAcknowledged", parentSessionID, runs: told },
      { type: "noticeDropped", parentSessionID, runs: told },
      { type: "noticeRejected", parentSessionID, runs: told, reason: "no" },
      { type: "readParent", parentSessionID, wasRefused: false, asksRoom: false },
      { type: "showToasts", parentSessionID, toasts: [{ message: "hm", variant: "info" }] },
      { type: "stopSession", taskId, messageID: "msg_1", requests: [] },
      { type: "leaveCopy", launchId: "msg_1", left },
      { type: "takeTurn", launchId: "msg_1" },
    ),
  );

const taskEvent = fc.constantFrom<TaskEvent>({ type: "CANCEL", at: START }, { type: "RESULT_READ", at: START });
const outboxEvent = fc.constantFrom<OutboxEvent>({ type: "PARENT_BUSY", at: START }, { type: "TICK", at: START });
const launchEvent = fc.constantFrom<LaunchEvent>({ type: "TURN_TAKEN", at: START }, { type: "CANCEL", at: START });
const launchInput = launchId.map((id) => ({
  ...{ id, parentSessionID: "ses_person" },
  ...{ isFork: false, needsWorktree: false, asksFleet: false },
}));
const prompts = fc.constantFrom<NoticePrompt[]>(
  [],
  [promptOf("msg_1", "ses_1")],
  [promptOf("msg_2"), promptOf("msg_3")],
);

/** What comes to a supervisor: a launch about as often as all else together would remove a task. */
const step: fc.Arbitrary<SupervisorStep> = fc.oneof(
  { weight: 30, arbitrary: fc.record({ type: fc.constant("LAUNCH" as const), at, task }) },
  {
    weight: 15,
    arbitrary: task.map((input) => ({ type: "RESTORE" as const, snapshot: initialSnapshot(input) })),
  },
  {
    weight: 10,
    arbitrary: fc.record({ type: fc.constant("ADOPT_PROMPTS" as const), at, parentSessionID: session, prompts }),
  },
  { weight: 15, arbitrary: fc.record({ type: fc.constant("TASK" as const), id: session, event: taskEvent }) },
  { weight: 15, arbitrary: fc.record({ type: fc.constant("OUTBOX" as const), id: session, event: outboxEvent }) },
  { weight: 15, arbitrary: fc.record({ type: fc.constant("PREPARE" as const), launch: launchInput }) },
  { weight: 15, arbitrary: fc.record({ type: fc.constant("PREPARATION" as const), id: launchId, event: launchEvent }) },
  {
    weight: 10,
    arbitrary: launchId.map((id): SupervisorStep => {
      const actorId = launchActorId(id);
      return { type: `xstate.done.actor.${actorId}`, actorId };
    }),
  },
  { weight: 60, arbitrary: fc.record({ type: fc.constant("HOST" as const), at, event: hostEvent }) },
  { weight: 60, arbitrary: fc.record({ type: fc.constant("EFFECT" as const), at, effect }) },
  { weight: 10, arbitrary: fc.record({ type: fc.constant("REAP_TASK" as const), id: session }) },
  { weight: 10, arbitrary: fc.record({ type: fc.constant("REAP_OUTBOX" as const), id: session }) },
  {
    weight: 10,
    arbitrary: fc.tuple(session, launchId, fc.nat()).map(([id, launch, choice]): SupervisorStep => {
      const actorId = oneOf(choice, id, outboxId(id), launchActorId(launch));
      return { type: `xstate.error.actor.${actorId}`, actorId, error: new Error("a fault of ours") };
    }),
  },
  { weight: 1, arbitrary: fc.constant<SupervisorEvent>({ type: "CLOSE" }) },
);

const steps = fc.array(step, { minLength: 1, maxLength: 60, size: "max" });

/** What the supervisor has done: its actions, which happen in their order. */
const deedsOf = (actions: readonly { type: string; params?: unknown }[]): Deed[] =>
  actions.flatMap(({ type, params }): Deed[] => {
    const { id, event, facts, parentSessionID } = params as {
      id: string;
      event: never;
      facts: { sessionID: string };
      parentSessionID: string;
    };
    const parent = parentOfOutbox(id ?? "");
    const launch = launchOfActor(id ?? "");
    switch (type) {
      case "startTask":
        return [{ do: "start a task", id: facts.sessionID }];
      case "startOutbox":
        return [{ do: "open an outbox", parent: parentSessionID }];
      case "startLaunch":
        return [{ do: "start a launch", id }];
      case "tell":
        if (launch !== undefined) return [{ do: "tell a launch", id: launch, event }];
        return parent === undefined ? [{ do: "tell a task", id, event }] : [{ do: "tell an outbox", parent, event }];
      case "stop":
        if (launch !== undefined) return [{ do: "stop a launch", id: launch }];
        return parent === undefined ? [{ do: "stop a task", id }] : [{ do: "close an outbox", parent }];
      case "perform":
        return [{ do: "have a service perform", effect: params }];
      case "reportFailure":
        return [{ do: "report a failure", failed: params }];
      default:
        return [];
    }
  });

const taken = new Set<unknown>();

const problemOf = (machine: Machine, numRuns: number): string => {
  const property = fc.property(steps, (events) => {
    const history = createSupervisorHistory();
    let [snapshot, actions] = initialTransition(machine);
    for (const event of events) {
      for (const definition of machine.getTransitionData(snapshot, event as never)) taken.add(definition);
      [snapshot, actions] = transition(machine, snapshot, event as never);
      history.take({ event, deeds: deedsOf(actions), ...snapshot.context });
    }
  });
  const { failed, errorInstance } = fc.check(property, { numRuns, endOnFailure: true });
  return failed ? (errorInstance as Error).message : "";
};

test("whatever happens to a supervisor, everything reaches whom it concerns, and nobody else", () => {
  expect(problemOf(supervisorMachine, pureRuns(120))).toBe("");
});

test.skipIf(process.versions.bun || process.env.TEST_SEED)(
  "these histories come to every transition of the chart",
  () => {
    const missed = transitionsOf(supervisorMachine).filter(({ definition }) => !taken.has(definition));
    expect(missed.map(({ name }) => name)).toEqual([]);
  },
);

/** Mistakes that the chart could have. Only an expectation that does not come from the chart sees them. */
const MISTAKES: Record<string, () => boolean> = {
  "a task that is supervised is started once more": () => true,
  "no task is started": () => false,
};

describe("a chart with a mistake has a history that is not promised", () => {
  test.each(Object.entries(MISTAKES))("%s", (_, notLive) => {
    expect(problemOf(supervisorMachine.provide({ guards: { notLive } }), 100)).not.toBe("");
  });
});
