import type { NamedMutant } from "./mutant.ts";

/** A change of the code that no test can see, for nothing outside depends on it. */
export interface EquivalentMutant extends Pick<NamedMutant, "file" | "code" | "mutation"> {
  reason: string;
}

/** Survivors that are no mistakes, each with its reason. */
export const equivalentMutants: readonly EquivalentMutant[] = [
  {
    file: "src/machines/outbox/setup.ts",
    code: 'const reason = event.type === "SEND_REFUSED" ? event.message : (refusal ?? "an error");',
    mutation: 'const reason = event.type === "SEND_REFUSED" ? event.message : (refusal ?? "");',
    reason: "A prompt is given up for a refusal, or for an error that was recorded: there is no third case.",
  },
  {
    file: "src/machines/outbox/setup.ts",
    code: "return event.promptID > prompt.messageID && event.createdAt >= storedAt;",
    mutation: "return event.promptID >= prompt.messageID && event.createdAt >= storedAt;",
    reason: "An answer to the prompt itself counts already, by the line before.",
  },
  {
    file: "src/machines/outbox/setup.ts",
    code: "if (prompt)",
    mutation: "if (true)",
    reason: "A notice is acknowledged only in states that have a prompt; the condition is for the compiler.",
  },
  {
    file: "src/machines/outbox/setup.ts",
    code: "if (prompt) {",
    mutation: "if (true) {",
    reason: "A notice is given up only in states that have a prompt; the condition is for the compiler.",
  },
  {
    file: "src/machines/outbox/delivery.ts",
    code: "if (!prompt || !sender) return;",
    mutation: "if (!prompt && !sender) return;",
    reason: "A prompt is sent only once there is one and the parent was read; the condition is for the compiler.",
  },
  {
    file: "src/machines/outbox/delivery.ts",
    code: "if (!prompt || !sender) return;",
    mutation: "if (false) return;",
    reason: "A prompt is sent only once there is one and the parent was read; the condition is for the compiler.",
  },
  {
    file: "src/machines/outbox/delivery.ts",
    code: "if (!prompt) return;",
    mutation: "if (false) return;",
    reason: "A prompt is checked only where there is one; the condition is for the compiler.",
  },
  {
    file: "src/machines/outbox/machine.ts",
    code: 'id: "outbox",',
    mutation: 'id: "",',
    reason: "The name of the chart stands in pictures alone.",
  },
  {
    file: "src/machines/supervisor/events.ts",
    code: "default: return undefined;",
    mutation: "default:",
    reason: "A function that returns nothing returns undefined.",
  },
  {
    file: "src/machines/supervisor/sorted-ids.ts",
    code: 'if ((ids[middle] ?? "") < id) from = middle + 1;',
    mutation: 'if ((ids[middle] ?? "Stryker was here!") < id) from = middle + 1;',
    reason: "The middle of a list is in the list; the default is for the compiler.",
  },
  {
    file: "src/machines/supervisor/actors.ts",
    code: "input.value && input.context",
    mutation: "input.value || input.context",
    reason: "A stored snapshot has both, a launch neither.",
  },
  {
    file: "src/machines/supervisor/actors.ts",
    code: "if (!actor) throw new Error(`The supervisor has no actor ${id}: it must be started before events are sent to it.`);",
    mutation: "if (!actor) throw new Error(``);",
    reason: "An actor is listed when it is started: only a fault in this file leads there.",
  },
  {
    file: "src/machines/supervisor/actors.ts",
    code: "if (!actor) throw new Error(`The supervisor has no actor ${id}: it must be started before events are sent to it.`);",
    mutation:
      "if (false) throw new Error(`The supervisor has no actor ${id}: it must be started before events are sent to it.`);",
    reason: "An actor is listed when it is started: only a fault in this file leads there.",
  },
  {
    file: "src/machines/supervisor/machine.ts",
    code: 'const stored = event.type === "RESTORE" ? event.snapshot : {};',
    mutation: "const stored = true ? event.snapshot : {};",
    reason: "A launch has no snapshot, and to spread undefined adds nothing.",
  },
  {
    file: "src/machines/supervisor/machine.ts",
    code: 'if (event.type !== "xstate.error.actor.*" && !("actorId" in event)) return;',
    mutation: "if (false) return;",
    reason: "Every error of an actor has its id; the condition is for the compiler.",
  },
  {
    file: "src/machines/supervisor/machine.ts",
    code: 'if (event.type !== "xstate.error.actor.*" && !("actorId" in event)) return;',
    mutation: 'if (true && !("actorId" in event)) return;',
    reason: "Every error of an actor has its id; the condition is for the compiler.",
  },
  {
    file: "src/machines/supervisor/machine.ts",
    code: 'if (event.type !== "xstate.error.actor.*" && !("actorId" in event)) return;',
    mutation: 'if (event.type === "xstate.error.actor.*" && !("actorId" in event)) return;',
    reason: "Every error of an actor has its id; the condition is for the compiler.",
  },
  {
    file: "src/machines/supervisor/machine.ts",
    code: 'if (event.type !== "xstate.error.actor.*" && !("actorId" in event)) return;',
    mutation: 'if (event.type !== "" && !("actorId" in event)) return;',
    reason: "Every error of an actor has its id; the condition is for the compiler.",
  },
  {
    file: "src/machines/supervisor/machine.ts",
    code: 'id: "supervisor",',
    mutation: 'id: "",',
    reason: "The name of the chart stands in pictures alone.",
  },
];
