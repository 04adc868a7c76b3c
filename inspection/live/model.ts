import { type Way, wayOf } from "../../src/machines/way.ts";
import {
  type InspectedActor,
  type InspectorMessage,
  type InspectorStep,
  MAX_STEPS,
} from "../../src/services/inspection/protocol.ts";
import { nameOf } from "./format.ts";
import type { TaskNames } from "./task-names.ts";

/** Everything that the page has received, and what the person looks at. */
export interface Model {
  actors: Map<string, InspectedActor>;
  /** Names of tasks by their ids. */
  names: Pick<TaskNames, "of">;
  /** Oldest first. */
  steps: InspectorStep[];
  /** Key of the actor whose chart is shown. */
  selected: string | undefined;
  /** True when the person selected it: then nothing else is selected automatically. */
  chosen: boolean;
  /** The step in the past that is shown; undefined: the present. */
  pinned: InspectorStep | undefined;
}

/** Creates an empty model. */
export const createModel = (names: Model["names"]): Model => ({
  actors: new Map(),
  names,
  steps: [],
  selected: undefined,
  chosen: false,
  pinned: undefined,
});

const selectAutomatically = (model: Model) => {
  const isThere = model.selected !== undefined && model.actors.has(model.selected);
  if (isThere && model.chosen) return;
  const actors = [...model.actors.values()];
  const newestTask = actors.findLast(({ kind, gone }) => kind === "task" && !gone);
  if (isThere && !newestTask) return;
  model.selected = (newestTask ?? actors.findLast(({ kind }) => kind === "task") ?? actors[0])?.key;
};

/** Returns how a person knows an actor: by the description of its task, otherwise by its kind and id. */
export const labelOf = ({ names }: Model, actor: InspectedActor): string =>
  (actor.kind === "task" ? names.of(actor.id) : undefined) ?? nameOf(actor);

/** Selects the task that the address names, if there is one. */
export const selectNamed = (model: Model, id: string): void => {
  const actor = [...model.actors.values()].findLast((one) => one.kind === "task" && one.id === id);
  if (actor) Object.assign(model, { selected: actor.key, chosen: true, pinned: undefined });
};

/** Adds a message to the model, which keeps as many steps as the server does. */
export const merge = (model: Model, { actors, steps }: InspectorMessage): void => {
  for (const actor of actors) model.actors.set(actor.key, actor);
  model.steps = [...model.steps, ...steps].slice(-MAX_STEPS);
  const oldest = model.steps[0]?.number ?? 0;
  for (const { key, gone, newest } of model.actors.values()) if (gone && newest < oldest) model.actors.delete(key);
  if (model.pinned && model.pinned.number < oldest) model.pinned = undefined;
  selectAutomatically(model);
};

/** Replaces everything: the server may be a new one. */
export const reset = (model: Model, message: InspectorMessage): void => {
  model.actors.clear();
  model.steps = [];
  model.pinned = undefined;
  merge(model, message);
};

/** An actor as it is, or was: its states, the way by which it came there, and the transition that led to them. */
export interface ShownState {
  actor: InspectedActor;
  states: string[];
  way: Way;
  lastTransition: InspectedActor["lastTransition"];
}

/** Returns the state that the selected actor is in, or was in at the pinned step. Its way is that of the steps that are kept. */
export const shownState = (model: Model): ShownState | undefined => {
  const actor = model.selected === undefined ? undefined : model.actors.get(model.selected);
  if (!actor) return undefined;
  const { pinned, steps } = model;
  const last = pinned?.to === actor.key ? pinned : undefined;
  const way = wayOf(steps.filter(({ to, number }) => to === actor.key && number <= (last?.number ?? number)));
  return { actor, states: (last ?? actor).states, way, lastTransition: last ?? actor.lastTransition };
};
