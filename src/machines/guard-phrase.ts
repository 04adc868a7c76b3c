import type { AnyStateMachine } from "xstate";
import type { Phrased } from "./chart.ts";
import { guardParts } from "./chart-json.ts";

/** Begins what is said where a guard has no words for what is so when it does not hold. No chart asks for that. */
export const NO_WORDS = "it is not so that";

/** Guards that only leave out what comes too late: after the run, or as an answer to an older question or prompt. */
const NOT_LATE = new Set(["live", "isCurrentCheck", "isCurrentGate", "isCurrentPrompt", "isOldestInstruction"]);

const joined = (phrases: readonly string[], word: string): string =>
  phrases.length < 3 ? phrases.join(` ${word} `) : `${phrases.slice(0, -1).join(", ")} ${word} ${phrases.at(-1)}`;

type Guards = Record<string, Partial<Phrased> | undefined>;

/** Returns phrases that hold together where the guard holds, or where it does not. */
const conditionsOf = (guard: unknown, guards: Guards, holds = true): string[] => {
  const parts = guardParts(guard);
  switch (parts.kind) {
    case "stateIn":
      return [holds ? `in ${parts.state}` : `not in ${parts.state}`];
    case "named": {
      if (NOT_LATE.has(parts.name)) return [];
      const { phrase = parts.name, otherwise = `${NO_WORDS} ${phrase}` } = guards[parts.name] ?? {};
      return [holds ? phrase : otherwise];
    }
    case "not":
      return parts.guards.flatMap((part) => conditionsOf(part, guards, !holds));
    default: {
      const inner = parts.guards.map((part) => conditionsOf(part, guards, holds)).filter(({ length }) => length > 0);
      if ((parts.kind === "and") === holds) return inner.flat();
      return inner.length > 0
        ? [
            joined(
              inner.map((phrases) => joined(phrases, "and")),
              "or",
            ),
          ]
        : [];
    }
  }
};

/**
 * Returns a guard as people read it, such as "if a slot is free and no tool call waits"; undefined where it only leaves out what
 * comes too late.
 */
export const guardPhrase = (guard: unknown, { implementations }: AnyStateMachine): string | undefined => {
  const phrases = conditionsOf(guard, implementations.guards as Guards);
  return phrases.length > 0 ? `if ${joined(phrases, "and")}` : undefined;
};
