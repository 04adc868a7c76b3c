import {
  type InspectedActor,
  type InspectorMessage,
  type InspectorStep,
  MAX_STEPS,
} from "../../src/services/inspection/protocol.ts";

/** All that the page knows, and what the person looks at. */
export interface Model {
  actors: Map<string, InspectedActor>;
  /** Oldest first. */
  steps: InspectorStep[];
  /** Key of the actor whose chart is shown. */
  selected: string | undefined;
  /** The person chose it: nothing else is shown by itself. */
  chosen: boolean;
  /** The moment that is shown; undefined: now. */
  pinned: InspectorStep | undefined;
}

/** Nothing is known yet. */
export const createModel = (): Model => ({
  actors: new Map(),
  steps: [],
  selected: undefined,
  chosen: false,
  pinned: undefined,
});

const selectByItself = (model: Model) => {
  const isThere = model.selected !== undefined && model.actors.has(model.selected);
  if (isThere && model.chosen) return;
  const actors = [...model.actors.values()];
  const newestTask = actors.findLast(({ kind, gone }) => kind === "task" && !gone);
  if (isThere && !newestTask) return;
  model.selected = (newestTask ?? actors.findLast(({ kind }) => kind === "task") ?? actors[0])?.key;
};

/** Takes in what has come. As much is kept as the server keeps. */
export const merge = (model: Model, { actors, steps }: InspectorMessage): void => {
  for (const actor of actors) model.actors.set(actor.key, actor);
  model.steps = [...model.steps, ...steps].slice(-MAX_STEPS);
  const oldest = model.steps[0]?.number ?? 0;
  for (const { key, gone, newest } of model.actors.values()) if (gone && newest < oldest) model.actors.delete(key);
  if (model.pinned && model.pinned.number < oldest) model.pinned = undefined;
  selectByItself(model);
};

/** Begins anew: the server may be another one. */
export const begin = (model: Model, showing: InspectorMessage): void => {
  model.actors.clear();
  model.steps = [];
  model.pinned = undefined;
  merge(model, showing);
};

/** Where an actor is, or was at the moment that is shown, and how it came there. */
export const standing = (
  model: Model,
): { actor: InspectedActor; states: string[]; moved: InspectedActor["moved"] } | undefined => {
  const actor = model.selected === undefined ? undefined : model.actors.get(model.selected);
  if (!actor) return undefined;
  const { pinned } = model;
  return pinned?.to === actor.key
    ? { actor, states: pinned.states, moved: pinned }
    : { actor, states: actor.states, moved: actor.moved };
};
