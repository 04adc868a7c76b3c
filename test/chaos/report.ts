import type { Schedule } from "./schedule.ts";
import { wordsOf } from "./steps.ts";

/** A schedule that violated an invariant. */
export interface Finding {
  seed: number;
  path: string;
  schedule: Schedule;
  faults: readonly string[];
  diagram: string;
}

/** Writes what a developer needs to reproduce a fault: the command, the steps, and what happened. */
export const reportOf = ({
  seed,
  path,
  schedule: {
    store,
    processes = 1,
    clocksOff,
    recovery,
    slots,
    toolset,
    onParentCancel,
    parentsTake,
    lifetime,
    limits,
    steps,
  },
  faults,
  diagram,
}: Finding): string =>
  [
    faults.join("\n"),
    "",
    `Again: npm run chaos -- --seed ${seed} --path "${path}"`,
    "",
    ...(processes === 1 ? [] : [`${processes} processes.`]),
    ...(clocksOff === undefined ? [] : [`Clocks are off by: ${clocksOff.join(", ")} ms.`]),
    `Store: ${store}. Recovery: ${recovery}. Slots: ${slots}.`,
    ...(toolset === undefined ? [] : [`Toolset: ${toolset}. On the cancellation of a parent: ${onParentCancel}.`]),
    ...(parentsTake === undefined ? [] : [`The models of people's sessions take: ${parentsTake} ms.`]),
    ...(lifetime === undefined ? [] : [`Each process dies after ${lifetime} calls.`]),
    ...(limits === undefined ? [] : [`Limits: ${JSON.stringify(limits)}.`]),
    "Steps:",
    ...steps.map((step, index) => `  ${index + 1}. ${wordsOf(step)}`),
    "",
    "```mermaid",
    diagram,
    "```",
  ].join("\n");
