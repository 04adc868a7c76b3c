// A retry is a resume after another end: both begin a run in the task's own session, where OpenCode has every step that was
// finished (docs/decisions/300-a-retry-is-a-run-of-its-own.md).
import { and, not } from "xstate";
import { given, NEW_RUN, taskSetup } from "./setup.ts";

const beginRun = taskSetup.assign(
  given(["RESUME", "RETRY"], ({ context, event }) => {
    const { at: startedAt, messageID, partID, prompt, job } = event;
    const budgetFrom = event.type === "RETRY" ? event.budgetFrom : context.run.budgetFrom;
    return {
      run: {
        ...{ index: context.run.index + 1, messageID, partID, prompt, startedAt },
        ...(job ? { job } : {}),
        ...(event.type === "RETRY" ? { isRetry: true as const } : {}),
        ...(budgetFrom ? { budgetFrom } : {}),
      },
      ...NEW_RUN,
      error: undefined,
      limitError: undefined,
      // The server that worked on it has its conversation.
      remote: context.remote && { ...context.remote, attempts: [] },
    };
  }),
);

/** The next run begins, with tries, limits and a receipt of its own, once the end of the one before is delivered. */
export const goOn = {
  guard: and(["isNothingOwed", not("waitedFor")]),
  target: "resumed",
  actions: beginRun,
} as const;

/** The same after a failure, unless the next run would end as that one did. */
export const goOnAfterFailure = {
  ...goOn,
  guard: and(["isNothingOwed", not("waitedFor"), "mayEndOtherwise"]),
} as const;
