import type { OutboxEvent } from "../../../machines/outbox/events.ts";
import type { Effect, SupervisorEvent } from "../../../machines/supervisor/events.ts";
import type { GateEnd, TaskEvent } from "../../../machines/task/events.ts";
import type { Gate } from "../../../task.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Ids } from "../../platform/ids.ts";
import type { Receipts } from "../../receipts/receipts.ts";
import { gatePrompt } from "../../text/gate.ts";
import { type Charts, type EffectHandlers, type EffectOf, endRun } from "./effect-handler.ts";
import { createOutboxEffects, type OutboxEffectDeps } from "./outbox-effects.ts";
import { createTaskEffects, type TaskEffectDeps } from "./task-effects.ts";

/** What a task asks of the fleet. What is found there reaches its chart as events. */
export interface RemoteRuns {
  /** Offers a run to the servers of the fleet. */
  order(taskId: string, run: number): Promise<TaskEvent>;
  /** Reads all that the servers have written of a run, and passes it to the chart. */
  read(taskId: string, run: number): Promise<void>;
  /** Asks the server that has the run to stop. */
  recall(taskId: string, run: number): Promise<void>;
  /** Ends a run in the fleet, unless somebody wrote before what the chart does not know yet. */
  close(taskId: string, run: number): Promise<void>;
}

/** What effects are carried out with. */
export interface EffectDeps extends TaskEffectDeps, OutboxEffectDeps {
  clock: Clock;
  ids: Ids;
  gates: {
    /** Runs the gate of a task in that directory. Undefined where it was stopped before it ended. */
    run(taskId: string, gate: Gate, directory: string): Promise<GateEnd | undefined>;
    /** Ends it, if it runs. */
    stop(taskId: string): void;
  };
  receipts: Pick<Receipts, "ready" | "ifKnown" | "write">;
  /** Undefined where this server is in no fleet: then what was meant for one is worked on here. */
  remoteRuns: RemoteRuns | undefined;
}

/** Creates the handlers of effects that concern a run, and neither its session nor its parent. */
const createRunEffects = ({
  clock,
  ids,
  gates,
  receipts,
  remoteRuns,
}: EffectDeps): EffectHandlers<
  "runGate" | "stopGate" | "writeReceipt" | "completeReceipt" | "sendOrder" | "readRun" | "recallRun" | "closeRun"
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
  sendOrder: {
    perform: async ({ taskId, run }) =>
      remoteRuns?.order(taskId, run) ?? {
        type: "ORDER_REFUSED",
        at: clock.now(),
        error: { name: "NoFleet", kind: "fleet", message: "This server is in no fleet." },
        retryable: false,
      },
    onFault: endRun,
  },
  // The chart waits with a deadline, or for whatever is read later.
  readRun: { perform: async ({ taskId, run }) => void (await remoteRuns?.read(taskId, run)) },
  recallRun: { perform: async ({ taskId, run }) => void (await remoteRuns?.recall(taskId, run)) },
  closeRun: { perform: async ({ taskId, run }) => void (await remoteRuns?.close(taskId, run)) },
});

/** Returns the answer to an effect as an event of the supervisor, for the chart that wanted the effect. */
const toChart = (effect: Effect, event: TaskEvent | OutboxEvent): SupervisorEvent =>
  "taskId" in effect
    ? { type: "TASK", id: effect.taskId, event: event as TaskEvent }
    : { type: "OUTBOX", id: effect.parentSessionID, event: event as OutboxEvent };

/** Carries out what the charts ask for. */
export interface Effects {
  /** Returns the answer to an effect, where it is known without the host. */
  know(effect: Effect, charts: Charts): SupervisorEvent | undefined;
  /** Carries an effect out. What it returns, now or later, goes back to the charts. */
  perform(effect: Effect, charts: Charts): SupervisorEvent | undefined | Promise<SupervisorEvent | undefined>;
  /** Returns the event that says that `perform` threw; undefined where no chart waits for an answer. */
  onFault(effect: Effect, at: number, reason: string): SupervisorEvent | undefined;
}

/** Creates the table of all effects. */
export const createEffects = (deps: EffectDeps): Effects => {
  const { log } = deps;
  const handlers: EffectHandlers = {
    ...createTaskEffects(deps),
    ...createRunEffects(deps),
    ...createOutboxEffects(deps),
  };

  const answered = (effect: Effect, event: TaskEvent | OutboxEvent | undefined) => {
    if (!event) return undefined;
    const failures: readonly string[] = handlers[effect.type].failures ?? [];
    if (failures.includes(event.type)) log.error(`the host failed: ${event.type}`, { ...event });
    return toChart(effect, event);
  };

  return {
    know: <Type extends Effect["type"]>(effect: EffectOf<Type>, charts: Charts) =>
      answered(effect, handlers[effect.type].know?.(effect, charts)),
    perform: <Type extends Effect["type"]>(effect: EffectOf<Type>, charts: Charts) => {
      const answer = handlers[effect.type].perform(effect, charts);
      return answer instanceof Promise ? answer.then((event) => answered(effect, event)) : answered(effect, answer);
    },
    onFault: <Type extends Effect["type"]>(effect: EffectOf<Type>, at: number, reason: string) => {
      const event = handlers[effect.type].onFault?.(effect, at, reason);
      return event && toChart(effect, event);
    },
  };
};
