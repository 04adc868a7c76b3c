import { and, assign } from "xstate";
import type { TaskError } from "../../task.ts";
import { backoff } from "../backoff.ts";
import type { Prompt, TaskContext, TaskEvent } from "./events.ts";
import { interruptionsWith, newestStepAt, patience, task } from "./setup.ts";

const PACE = { first: patience.backoff, longest: patience.longestBackoff };

const UNANSWERED: TaskError = {
  name: "Unanswered",
  kind: "unanswered",
  message: `OpenCode took the prompt but never answered it, though it was sent ${patience.sends} times.`,
};

const SESSION_GONE: TaskError = {
  name: "SessionGone",
  kind: "sessionGone",
  message: "The task's session was deleted before it answered.",
};

const INTERRUPTED: TaskError = {
  name: "Interrupted",
  kind: "interrupted",
  message: "OpenCode ended while the task ran, and the task was not continued.",
};

const runPrompt = ({ facts, run }: TaskContext): Prompt => ({
  sessionID: facts.sessionID,
  messageID: run.messageID,
  parts: [{ id: run.partID, text: run.prompt }],
  agent: facts.agent,
  model: facts.model,
});

const requestStop = {
  type: "request",
  params: ({ context }: { context: TaskContext }) => ({
    type: "stop" as const,
    sessionID: context.facts.sessionID,
    messageID: context.run.messageID,
    requests: context.requests,
  }),
} as const;

function eventError({ event }: { event: TaskEvent }): TaskError {
  return "error" in event && "kind" in event.error ? event.error : UNANSWERED;
}

/** Asks the host how the run stands; answers to earlier looks count no more. */
const requestLook = task.enqueueActions(({ context, enqueue }) => {
  const { facts, run, hostError, abortedAt, missingSince } = context;
  const look = context.look + 1;
  enqueue.assign({ look, wakeAt: undefined });
  const { sessionID } = facts;
  const seen = { sessionID, messageID: run.messageID, hostError, abortedAt, wasMissing: missingSince !== undefined };
  enqueue({ type: "request", params: { type: "look", look, ...seen } });
});

const failure = { type: "noteError", params: eventError } as const;

const goOnWorking = {
  guard: "newestLook",
  target: "working",
  actions: task.assign({ sends: 1, misses: 0, missingSince: undefined, hostError: undefined }),
} as const;

const NOTED = "It is looked into once the prompt is accepted.";

const ASKED_AGAIN = "It is asked again after a pause.";

const countMiss = task.assign({ misses: ({ context }) => context.misses + 1 });

const fail = { target: "#error", actions: ["noteEnd", failure] } as const;

const answered = {
  guard: "newestLook",
  target: "#completed",
  actions: [
    "noteEnd",
    task.assign({
      result: ({ context, event }) => (event.type === "LOOKED_ANSWERED" ? event.result : context.result),
      resultRetrievedAt: undefined,
    }),
  ],
} as const;

/** The run has not ended in the host, as far as is known: what still works on it costs. */
const abandon = {
  target: "#error",
  description: "The run is given up. What still works on it is stopped.",
  actions: ["noteEnd", failure, requestStop],
} as const;

/** The run was cut off. Sent again with the same ids, its prompt goes on from the last step that was finished. */
const cutOff = (sending: "launching" | "prompting") =>
  [
    {
      guard: and(["newestLook", "mayContinue"]),
      target: sending,
      description: "It was cut off, and goes on from the last step that was finished.",
      actions: task.assign({
        sends: 0,
        misses: 0,
        interruptions: ({ context, event }) => interruptionsWith(context, event),
        lastStepAt: ({ context, event }) => newestStepAt(context, event),
        abortedAt: ({ context, event }) => (event.type === "LOOKED_ABORTED" ? event.completedAt : context.abortedAt),
      }),
    },
    {
      guard: "newestLook",
      target: "#error",
      description: "It was cut off, and is not continued.",
      actions: ["noteEnd", { type: "noteError", params: INTERRUPTED }, requestStop],
    },
  ] as const;

/** Where a run is until it ends. A launch and a resume go the same way; only the name of the sending state differs. */
export const runStates = (sending: "launching" | "prompting") =>
  ({
    queued: task.createStateConfig({
      description: "The child session exists. The run waits for a slot.",
      on: {
        SLOT_GRANTED: { target: sending },
        ADOPTED: { description: "Nothing was sent yet: the run goes on waiting." },
        CANCEL: {
          target: "#cancelled",
          description: "Nothing was sent yet: there is nothing to stop.",
          actions: "noteEnd",
        },
      },
    }),
    [sending]: task.createStateConfig({
      description: "The prompt is on its way to the host.",
      entry: [
        assign({
          sends: ({ context }) => context.sends + 1,
          hinted: false,
          missingSince: undefined,
          wakeAt: undefined,
        }),
        { type: "request", params: ({ context }) => ({ type: "prompt", prompt: runPrompt(context) }) },
      ],
      on: {
        PROMPT_ACCEPTED: [
          { guard: "hinted", target: "settling", description: "It said idle or error before that." },
          { target: "working" },
        ],
        PROMPT_REFUSED: [{ guard: and(["retryable", "sendsLeft"]), target: "backingOff" }, abandon],
        SESSION_MISSING: { target: "missing", actions: "noteMissing" },
        HOST_IDLE: { description: NOTED, actions: "noteHint" },
        HOST_ERROR: { description: NOTED, actions: "noteHint" },
      },
    }),
    backingOff: task.createStateConfig({
      description: "The prompt was refused, or lies unanswered. It is sent again, with the same ids, after a pause.",
      entry: { type: "wakeAfter", params: ({ context }) => backoff(context.sends, PACE) },
      on: {
        TICK: { guard: "due", target: sending },
        HOST_IDLE: { target: "settling" },
        HOST_ERROR: { target: "settling", actions: "noteHint" },
      },
    }),
    working: task.createStateConfig({
      tags: "working",
      description: "The child is at work.",
      on: {
        HOST_IDLE: { target: "settling" },
        HOST_ERROR: {
          description: "Idle should follow; if it does not, the host is asked after a moment.",
          actions: ["noteHint", { type: "wakeAfter", params: patience.afterError }],
        },
        TICK: { guard: "due", target: "settling" },
      },
    }),
    settling: task.createStateConfig({
      description: "The child looks finished. Idle is a hint, not a fact: the host is asked how the run stands.",
      entry: requestLook,
      on: {
        HOST_IDLE: { target: "settling", reenter: true, description: "It is asked anew." },
        HOST_ERROR: { target: "settling", reenter: true, description: "It is asked anew.", actions: "noteHint" },
        LOOKED_BUSY: goOnWorking,
        LOOKED_ANSWERED: answered,
        LOOKED_FAILED: { guard: "newestLook", ...fail },
        LOOKED_ABORTED: { guard: "newestLook", target: "aborted" },
        LOOKED_MISSING: { guard: "newestLook", target: "missing", actions: "noteMissing" },
        LOOKED_UNANSWERED: [
          {
            guard: and(["newestLook", "sendsLeft"]),
            target: "backingOff",
            description: "The prompt is sent again.",
            actions: assign({ misses: 0 }),
          },
          { guard: "newestLook", ...abandon },
        ],
        LOOK_FAILED: [
          {
            guard: and(["newestLook", "looksLeft"]),
            target: "working",
            description: ASKED_AGAIN,
            actions: [countMiss, { type: "wakeAfter", params: patience.lookAgain }],
          },
          { guard: "newestLook", ...abandon },
        ],
      },
    }),
    missing: task.createStateConfig({
      description: "The host does not find the child session. It is asked again after a pause: only then that counts.",
      entry: { type: "wakeAfter", params: patience.lookAgain },
      on: {
        TICK: { guard: "due", target: "settling" },
        HOST_ERROR: { description: "It is looked into after the pause.", actions: "noteHint" },
      },
    }),
    aborted: task.createStateConfig({
      description: "The run was aborted: by a person, or because OpenCode ends. That shows within a moment.",
      entry: [
        assign({ abortedAt: ({ event }) => ("completedAt" in event ? event.completedAt : event.at) }),
        { type: "wakeAfter", params: patience.afterAbort },
      ],
      on: {
        TICK: {
          guard: "due",
          target: "#cancelled",
          description: "OpenCode has not ended: a person stopped the run.",
          actions: assign({ completedAt: ({ context, event }) => context.abortedAt ?? event.at, wakeAt: undefined }),
        },
      },
    }),
    reclaiming: task.createStateConfig({
      description: "The process that supervised the run is gone. The host is asked what became of the run meanwhile.",
      entry: requestLook,
      on: {
        TICK: { guard: "due", target: "reclaiming", reenter: true },
        LOOKED_BUSY: goOnWorking,
        LOOKED_ANSWERED: answered,
        LOOKED_FAILED: { guard: "newestLook", ...fail },
        // Whatever was aborted, it went down with its process: nobody was there to cancel it.
        LOOKED_ABORTED: cutOff(sending),
        LOOKED_UNANSWERED: cutOff(sending),
        LOOKED_MISSING: {
          guard: "newestLook",
          description: ASKED_AGAIN,
          actions: ["noteMissing", { type: "wakeAfter", params: patience.lookAgain }],
        },
        LOOK_FAILED: [
          {
            guard: and(["newestLook", "looksLeft"]),
            description: ASKED_AGAIN,
            actions: [countMiss, { type: "wakeAfter", params: patience.lookAgain }],
          },
          { guard: "newestLook", ...abandon },
        ],
      },
    }),
    stopping: task.createStateConfig({
      tags: "stopping",
      description: "The task was cancelled. Its session, and all below it, is being stopped.",
      meta: { refuses: { CANCEL: "is already being cancelled" } },
      initial: "aborting",
      on: {
        SESSION_GONE: { target: "#cancelled", actions: "noteEnd" },
        ADOPTED: { target: ".aborting", description: "It goes on stopping the session." },
      },
      states: {
        aborting: {
          description: "The abort is on its way.",
          entry: [assign({ stops: ({ context }) => context.stops + 1, wakeAt: undefined }), requestStop],
          on: {
            STOPPED: { target: "#cancelled", actions: "noteEnd" },
            NOT_STOPPED: [
              { guard: "stopsLeft", target: "pausing" },
              {
                target: "#cancelled",
                description: "It was tried often enough; the task says why.",
                actions: ["noteEnd", failure],
              },
            ],
          },
        },
        pausing: {
          description: "The session still runs, or its prompt has not arrived yet. It is aborted again after a pause.",
          entry: { type: "wakeAfter", params: patience.stop },
          on: { TICK: { guard: "due", target: "aborting" } },
        },
      },
    }),
  }) as const;

/** What may come from outside wherever a run is, to end it or to take it over. */
export const interruptions = {
  CANCEL: { guard: "notStopping", target: ".stopping" },
  SESSION_GONE: {
    target: "#error",
    description: "Its model works on until it is aborted.",
    actions: ["noteEnd", { type: "noteError", params: SESSION_GONE }, requestStop],
  },
  BROKEN: abandon,
  ADOPTED: {
    target: ".reclaiming",
    actions: task.assign(({ context, event }) => ({
      recovery: event.type === "ADOPTED" ? event.recovery : context.recovery,
      hostError: undefined,
      hinted: false,
      misses: 0,
      missingSince: undefined,
    })),
  },
} as const;
