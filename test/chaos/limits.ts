import fc from "fast-check";
import type { EngineOptions } from "../../src/services/engine/context.ts";
import type { Retention } from "../../src/services/store/store.ts";
import type { Limits as SlotLimits } from "../model/capacity-reference.ts";
import type { GateEnding } from "./gates.ts";

/** What the options of a schedule allow. Times are milliseconds; undefined: no limit. */
export interface Limits {
  /** How many may be at work at once, beside the limit of all tasks. */
  concurrency: Required<Omit<SlotLimits, "total">>;
  toolCalls: number;
  tokens: number | undefined;
  /** US dollars. */
  cost: number | undefined;
  tasksPerParent: number;
  /** How often in a row a task may make the same call. */
  repeat: number;
  runTime: number | undefined;
  stale: number;
  fallback: EngineOptions["fallback"];
  /** How the commands end that check the answers of the agent `general`; none: its answers count as they are. */
  gate: readonly GateEnding[];
  /** True where such a command is run before the agent begins, too. */
  gateBefore: boolean;
  /** Whether the answers of the agent `general` fit the schema of its results, in turn; none: it has no schema. */
  typed: readonly ("fits" | "misfits")[];
  /** Which ended tasks are kept. */
  retention: Retention;
  /** How long a request may wait for a person. */
  attention: number | undefined;
  /** True where nobody sits at the keyboard, as in `opencode run`. */
  isHeadless: boolean;
  /** For how long the provider keeps a conversation, in which ends wait for each other. 0: none waits. */
  promptCache: number;
}

/** The models that a launch may name. */
export const MODELS = ["fake/m1", "fake/small", "router/anthropic/claude"] as const;

const small = { providerID: "fake", modelID: "small" };
const claude = { providerID: "router", modelID: "anthropic/claude" };

/** The limits of a schedule that says nothing of them. */
export const USUAL_LIMITS: Limits = {
  concurrency: { providers: {}, models: {}, agents: {} },
  toolCalls: 12,
  tokens: undefined,
  cost: undefined,
  tasksPerParent: 200,
  repeat: 6,
  runTime: undefined,
  stale: 600_000,
  fallback: { agents: { general: [small, claude] }, after: 10_000 },
  gate: [],
  gateBefore: false,
  typed: [],
  retention: {},
  attention: undefined,
  isHeadless: false,
  promptCache: 0,
};

const few = fc.constantFrom(1, 2, 3);

/** Draws one of these values, or in half of the cases the first: few limits at once, so that each of them is reached. */
const seldom = <Value>(usual: Value, ...others: Value[]) => fc.constantFrom(...others.map(() => usual), ...others);

const limitsBy = <Name extends string>(...names: Name[]) =>
  fc.dictionary(fc.constantFrom(...names), few, { maxKeys: 2, noNullPrototype: true });

const ending = (how: GateEnding["how"], after: number): GateEnding => ({ how, after });

/** Draws limits that short schedules come to. */
export const limits: fc.Arbitrary<Limits> = fc.record({
  concurrency: fc.record({
    providers: limitsBy("fake", "router"),
    models: limitsBy(...MODELS),
    agents: limitsBy("general", "explore"),
  }),
  toolCalls: seldom(1_000, 12, 4),
  tokens: seldom(undefined, 1_000),
  cost: seldom(undefined, 0.5),
  tasksPerParent: seldom(200, 3, 1),
  repeat: seldom(6, 3),
  runTime: seldom(undefined, 8_000, 20_000, 60_000),
  stale: seldom(600_000, 20_000),
  fallback: fc.record({
    agents: fc.constantFrom({}, { general: [small, claude] }, { general: [claude], explore: [claude, small] }),
    after: seldom(10_000, 2_000),
  }),
  gate: seldom<readonly GateEnding[]>(
    [],
    [ending("fails", 0), ending("passes", 300)],
    [ending("passes", 3_000)],
    [ending("fails", 600)],
    [ending("cannotRun", 0), ending("fails", 40_000)],
  ),
  gateBefore: fc.boolean(),
  typed: seldom<Limits["typed"]>([], ["fits"], ["misfits", "fits"], ["misfits"]),
  retention: seldom<Retention>({}, { count: 0 }, { count: 1 }, { days: 0 }),
  attention: seldom(undefined, 3_000, 20_000),
  isHeadless: fc.constantFrom(...Array<boolean>(5).fill(false), true),
  promptCache: seldom(0, 20_000, 120_000),
});
