import type { LaunchEvent } from "../../../machines/launch/events.ts";
import type { OutboxEvent } from "../../../machines/outbox/events.ts";
import type { Effect, SupervisorEvent } from "../../../machines/supervisor/events.ts";
import type { TaskEvent } from "../../../machines/task/events.ts";
import type { Effects } from "../../runtime/effects.ts";
import { type EffectHandlers, type EffectOf, endRun } from "../../runtime/effects.ts";
import { gatePrompt } from "../../text/child-prompts.ts";
import type { EngineContext } from "../context.ts";
import { createLaunchEffects } from "./launch-effects.ts";
import { createOutboxEffects } from "./outbox-effects.ts";
import { createTaskEffects } from "./task-effects.ts";

/** Creates the handlers of effects that concern a run, and neither its session nor its parent. */
const createRunEffects = ({
  clock,
  ids,
  gates,
  receipts,
  remoteRuns,
}: EngineContext): EffectHandlers<
  | "runGate"
  | "runGateBefore"
  | "stopGate"
  | "writeReceipt"
  | "completeReceipt"
  | "enqueueJob"
  | "readRun"
  | "requestRemoteStop"
  | "closeRun"
> => ({
  runGate: {
    perform: async ({ taskId, gateRun, directory, gate }) => {
      const end = await gates.run(taskId, gate, directory);
      if (!end) return undefined;
      const [partID = ""] = ids.parts(1);
      const followUp = { messageID: ids.message(), partID, prompt: gatePrompt(gate, end) };
      return { type: "GATE_ENDED", at: clock.now(), gateRun, end, ...followUp };
    },
    onFault: endRun,
  },
  runGateBefore: {
    perform: async ({ taskId, gate, directory }) => {
      const end = await gates.runBefore(taskId, gate, directory);
      return end && { type: "GATE_ENDED_BEFORE", at: clock.now(), end };
    },
    // The agent begins all the same.
    onFault: (_, at) => ({ type: "GATE_ENDED_BEFORE", at, end: { end: "notRun" } }),
  },
  stopGate: { perform: ({ taskId }) => void gates.stop(taskId) },
  writeReceipt: {
    // Always: so the answer is stored together with the end.
    know: (run) => {
      const receipt = receipts.ifKnown(run);
      const at = clock.now();
      return receipt ? { type: "RECEIPT_WRITTEN", at, receipt } : { type: "RECEIPT_INCOMPLETE", at };
    },
    perform: () => undefined,
  },
  // Where it fails, the next process that takes the task over asks again.
  completeReceipt: {
    perform: async (run) => {
      const receipt = await receipts.write(run);
      return { type: "RECEIPT_WRITTEN", at: clock.now(), receipt };
    },
  },
  enqueueJob: {
    perform: async ({ taskId, run }) =>
      remoteRuns?.enqueue(taskId, run) ?? {
        type: "JOB_REFUSED",
        at: clock.now(),
        error: { name: "NoFleet", kind: "fleet", message: "This server is in no fleet." },
        retryable: false,
      },
    onFault: endRun,
  },
  // The chart waits with a deadline, or for whatever is read later.
  readRun: { perform: async ({ taskId, run }) => void (await remoteRuns?.read(taskId, run)) },
  requestRemoteStop: { perform: async ({ taskId, run }) => void (await remoteRuns?.requestStop(taskId, run)) },
  closeRun: { perform: async ({ taskId, run }) => void (await remoteRuns?.close(taskId, run)) },
});

/** Returns the answer to an effect as an event of the supervisor, for the chart that wanted the effect. */
const toChart = (effect: Effect, event: TaskEvent | OutboxEvent | LaunchEvent): SupervisorEvent => {
  if ("taskId" in effect) return { type: "TASK", id: effect.taskId, event: event as TaskEvent };
  if ("launchId" in effect) return { type: "PREPARATION", id: effect.launchId, event: event as LaunchEvent };
  return { type: "OUTBOX", id: effect.parentSessionID, event: event as OutboxEvent };
};

/** Creates the table of all effects. */
export const createEffects = (ctx: EngineContext): Effects => {
  const handlers: EffectHandlers = {
    ...createTaskEffects(ctx),
    ...createRunEffects(ctx),
    ...createOutboxEffects(ctx),
    ...createLaunchEffects(ctx),
  };

  const answered = (effect: Effect, event: TaskEvent | OutboxEvent | LaunchEvent | undefined) => {
    if (!event) return undefined;
    const failures: readonly string[] = handlers[effect.type].failures ?? [];
    if (failures.includes(event.type)) ctx.log.error(`the host failed: ${event.type}`, { ...event });
    return toChart(effect, event);
  };

  return {
    know: <Type extends Effect["type"]>(effect: EffectOf<Type>) =>
      answered(effect, handlers[effect.type].know?.(effect)),
    perform: <Type extends Effect["type"]>(effect: EffectOf<Type>) => {
      const answer = handlers[effect.type].perform(effect);
      return answer instanceof Promise ? answer.then((event) => answered(effect, event)) : answered(effect, answer);
    },
    onFault: <Type extends Effect["type"]>(effect: EffectOf<Type>, at: number, reason: string) => {
      const event = handlers[effect.type].onFault?.(effect, at, reason);
      return event && toChart(effect, event);
    },
  };
};
