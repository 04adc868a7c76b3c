import { type InspectedActor, type InspectorStep, MAX_STEPS } from "./protocol.ts";

/** The newest steps of all actors, and the current state of each actor. */
export interface StepLog {
  /** Adds a step for an event that was just sent. Its effect is not known before `completeStep`. */
  beginStep(sent: Pick<InspectorStep, "at" | "from" | "to" | "event">): InspectorStep;
  /** Completes a step: the actor has taken or ignored the event, and is now in `states`. */
  completeStep(step: InspectorStep, states: string[], taken: boolean): void;
  addActor(actor: Pick<InspectedActor, "key" | "kind" | "id" | "directory">): void;
  /** Marks an actor as gone. It is dropped with the last of its steps. */
  removeActor(key: string): void;
  /** Number of the newest step. */
  newest(): number;
  /** The steps after that number, and the actors that took one of them; after 0, all actors. */
  since(number: number): { actors: InspectedActor[]; steps: InspectorStep[] };
  clear(): void;
}

/** Creates an empty log of at most `MAX_STEPS` steps. */
export const createStepLog = (): StepLog => {
  const actors = new Map<string, InspectedActor>();
  let steps: InspectorStep[] = [];
  let count = 0;

  /** Drops the actors that are gone and of which no step is kept any more. */
  const dropGone = () => {
    const oldest = steps[0]?.number ?? 0;
    for (const { key, gone, newest } of actors.values()) if (gone && newest < oldest) actors.delete(key);
  };

  return {
    beginStep: (sent) => {
      count += 1;
      const actor = actors.get(sent.to);
      const step: InspectorStep = {
        number: count,
        ...sent,
        states: actor?.states ?? [],
        entered: [],
        left: [],
        taken: false,
      };
      steps.push(step);
      if (actor) actor.newest = count;
      if (steps.length > MAX_STEPS) {
        steps.shift();
        dropGone();
      }
      return step;
    },
    completeStep: (step, states, taken) => {
      const actor = actors.get(step.to);
      const entered = states.filter((state) => !actor?.states.includes(state));
      const left = actor?.states.filter((state) => !states.includes(state)) ?? [];
      Object.assign(step, { states, entered, left, taken } satisfies Partial<InspectorStep>);
      if (!actor) return;
      actor.states = states;
      const { number, at, event } = step;
      if (entered.length > 0) actor.lastTransition = { number, at, event, entered, left };
    },
    addActor: (actor) => {
      const existing = actors.get(actor.key);
      if (existing) existing.gone = false;
      else {
        const lastTransition = { number: count, at: 0, event: "", entered: [], left: [] };
        actors.set(actor.key, { ...actor, states: [], lastTransition, newest: count, gone: false });
      }
    },
    removeActor: (key) => {
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
