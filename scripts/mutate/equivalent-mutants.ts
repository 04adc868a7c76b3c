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
];
