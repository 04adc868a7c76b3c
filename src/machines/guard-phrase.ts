import type { AnyStateMachine } from "xstate";
import type { Phrased } from "./chart.ts";
import { guardParts } from "./chart-json.ts";

/** Guards that only leave out what comes too late: after the run, or as an answer to an older question or prompt. */
const NOT_LATE = new Set(["live", "isCurrentCheck", "isCurrentGate", "isCurrentPrompt", "isOldestInstruction"]);

const joined = (phrases: string[], word: string): string =>
  phrases.length < 3 ? phrases.join(` ${word} `) : `${phrases.slice(0, -1).join(", ")} ${word} ${phrases.at(-1)}`;

/** A phrase, and whether it must be so, or must not. */
interface Condition {
  phrase: string;
  holds: boolean;
}

const conditionsOf = (guard: unknown, phraseOf: (name: string) => string): Condition[] => {
  const parts = guardParts(guard);
  if (parts.kind === "stateIn") return [{ phrase: `in ${parts.state}`, holds: true }];
  if (parts.kind === "named") return NOT_LATE.has(parts.name) ? [] : [{ phrase: phraseOf(parts.name), holds: true }];
  const inner = parts.guards.flatMap((part) => conditionsOf(part, phraseOf));
  if (parts.kind === "and") return inner;
  if (parts.kind === "not") return inner.map(({ phrase, holds }) => ({ phrase, holds: !holds }));
  const phrases = inner.map(({ phrase }) => phrase);
  return [{ phrase: joined(phrases, "or"), holds: true }];
};

/**
 * Returns a guard as people read it, such as "if a slot is free, unless a tool call waits"; undefined where it only leaves out what
 * comes too late.
 */
export const guardPhrase = (guard: unknown, { implementations }: AnyStateMachine): string | undefined => {
  const guards = implementations.guards as Record<string, Partial<Phrased> | undefined>;
  const conditions = conditionsOf(guard, (name) => guards[name]?.phrase ?? name);
  const [must, mustNot] = [true, false].map((isWanted) =>
    conditions.flatMap(({ phrase, holds }) => (holds === isWanted ? phrase : [])),
  );
  const parts = [
    ...(must?.length ? [`if ${joined(must, "and")}`] : []),
    ...(mustNot?.length ? [`unless ${joined(mustNot, "or")}`] : []),
  ];
  return parts.length > 0 ? parts.join(", ") : undefined;
};
