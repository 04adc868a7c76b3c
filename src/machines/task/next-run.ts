// A retry is a resume after another end: both begin a run in the task's own session, where OpenCode has every step that was
// finished (docs/decisions/300-a-retry-is-a-run-of-its-own.md). Neither begins before the end of the run before is delivered, so
// that each notice says how one run ended (docs/decisions/308-a-next-run-waits-for-the-result.md).
import { and, not } from "xstate";
import { given, NEW_RUN, request, taskSetup } from "./setup.ts";

const TO_GO_ON = "is to go on already, with what it was given, once its result is delivered";

const beginRun = taskSetup.assign(
  given(["RESUME", "RETRY"], ({ context, event }) => {
    const { at: startedAt, messageID, partID, prompt, job } = event;
    const budgetFrom = event.type === "RETRY" ? event.budgetFrom : context.run.budgetFrom;
    return {
      run: {
        ...{ index: context.run.index + 1, messageID, partID, prompt, startedAt },
        ...(job ? { job } : {}),
        ...(event.type === "RETRY" ? { isRetry: true as const } : {}),
        ...(event.isCancelled ? { isCancelled: event.isCancelled } : {}),
        ...(budgetFrom ? { budgetFrom } : {}),
      },
      ...NEW_RUN,
      ...(event.model ? { ownModel: event.model } : {}),
      nextRun: undefined,
      error: undefined,
      limitError: undefined,
      // The server that worked on it has its conversation.
      remote: context.remote && { ...context.remote, attempts: [] },
    };
  }),
);

/** The next run begins, with tries, limits and a receipt of its own, once the end of the one before is delivered. */
export const goOn = {
  guard: "mayGoOn",
  target: "resumed",
  actions: beginRun,
} as const;

/** The same after a failure, unless the next run would end as that one did. */
export const goOnAfterFailure = {
  ...goOn,
  guard: and(["mayGoOn", "mayEndOtherwise"]),
} as const;

/** Whether the task is to go on, once the result of its newest run is delivered. */
export const nextRun = taskSetup.createStateConfig({
  description: "Whether the task is to go on, once the result of its newest run is delivered.",
  initial: "none",
  states: {
    none: {
      description: "Nobody has asked it to.",
      on: {
        NEXT_RUN_ASKED: {
          guard: and(["fitsItsEnd", "mayEndOtherwise", not("mayGoOn")]),
          target: "waiting",
          actions: taskSetup.assign(given("NEXT_RUN_ASKED", ({ event: { type, at, ...nextRun } }) => ({ nextRun }))),
        },
      },
    },
    waiting: {
      description: "It was asked to, and does once the result is delivered.",
      meta: { refuses: { RESUME: TO_GO_ON, RETRY: TO_GO_ON } },
      always: { guard: "mayGoOn", target: "beginning", description: "The result is delivered." },
      on: {
        CANCEL: {
          guard: "isNextRunWanted",
          description: "The next run ends as soon as it has begun, so that whoever asked for it learns of that.",
          actions: taskSetup.assign({
            nextRun: ({ context: { nextRun } }) => nextRun && { ...nextRun, isCancelled: true as const },
          }),
        },
      },
    },
    beginning: {
      description: "The result is delivered: the next run begins.",
      entry: request(
        "beginNextRun",
        ({ context: { facts, nextRun } }) => nextRun && { taskId: facts.sessionID, next: nextRun },
      ),
      on: {
        RESUME: { target: "none" },
        RETRY: { target: "none" },
      },
    },
  },
});
