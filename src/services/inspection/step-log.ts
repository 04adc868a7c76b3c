import type { InspectedActor, InspectorStep } from "./protocol.ts";
import { MAX_STEPS } from "./protocol.ts";

/** The newest steps of all actors, and each actor as it stands. */
export interface StepLog {
  /** An event was sent. What it leads to is not known yet: `settle` says it. */
  send(sent: Pick<InspectorStep, "at" | "from" | "to" | "event">): InspectorStep;
  /** The actor has taken or refused the event. */
  settle(step: InspectorStep, states: string[], taken: boolean): void;
  /** An actor is there. */
  introduce(actor: Pick<InspectedActor, "key" | "kind" | "id" | "directory">): void;
  /** An actor is there no more. */
  dismiss(key: string): void;
  /** Number of the newest step. */
  newest(): number;
  since(number: number): { actors: InspectedActor[]; steps: InspectorStep[] };
  clear(): void;
}

/** None yet. */
export const createStepLog = (): StepLog => {
  const actors = new Map<string, InspectedActor>();
  let steps: InspectorStep[] = [];
  let count = 0;

  /** What is gone and has no step left is not shown any more. */
  const forgetGone = () => {
    const oldest = steps[0]?.number ?? 0;
    for (const { key, gone, newest } of actors.values()) if (gone && newest < oldest) actors.delete(key);
  };

  return {
    send: (sent) => {
      count += 1;
      const states = actors.get(sent.to)?.states ?? [];
      const step: InspectorStep = { number: count, ...sent, states, entered: [], left: [], taken: false };
      steps.push(step);
      const actor = actors.get(sent.to);
      if (actor) actor.newest = count;
      if (steps.length > MAX_STEPS) {
        steps.shift();
        forgetGone();
      }
      return step;
    },
    settle: (step, states, taken) => {
      const before = actors.get(step.to);
      const entered = states.filter((state) => !before?.states.includes(state));
      const left = before?.states.filter((state) => !states.includes(state)) ?? [];
      Object.assign(step, { states, entered, left, taken } satisfies Partial<InspectorStep>);
      if (!before) return;
      before.states = states;
      const { number, at, event } = step;
      if (entered.length > 0) before.moved = { number, at, event, entered, left };
    },
    introduce: (actor) => {
      const known = actors.get(actor.key);
      if (known) known.gone = false;
      else {
        const moved = { number: count, at: 0, event: "", entered: [], left: [] };
        actors.set(actor.key, { ...actor, states: [], moved, newest: count, gone: false });
      }
    },
    dismiss: (key) => {
      const actor = actors.get(key);
      if (actor) actor.gone = true;
    },
    newest: () => count,
    since: (number) => ({
      actors: [...actors.values()].filter(({ newest }) => number === 0 || newest > number),
      steps: steps.filter((step) => step.number > number),
    }),
    clear: () => {
      actors.clear();
      steps = [];
    },
  };
};
