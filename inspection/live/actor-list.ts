import type { InspectedActor } from "../../src/services/inspection/protocol.ts";
import { make } from "../element.ts";
import { lastOf, nameOf, notableStates, regionOf, stateName, toneOf } from "./format.ts";
import { labelOf, type Model } from "./model.ts";

const stateSummary = ({ states }: InspectedActor): string =>
  notableStates(states)
    .map((path) => (path.startsWith("lifecycle.") ? regionOf(path).state : stateName(path)))
    .join(", ");

/** A launch that is over says itself how it ended. */
const endOf = ({ kind, gone }: InspectedActor): string => (gone && kind !== "launch" ? ", at rest" : "");

const GROUPS = [
  ["task", "Tasks"],
  ["launch", "Launches"],
  ["outbox", "Outboxes"],
  ["supervisor", "Supervisor"],
] as const;

/** Orders the newest first, and those that are gone last. */
const newestFirst = (actors: InspectedActor[]): InspectedActor[] =>
  actors.toReversed().sort((one, other) => Number(one.gone) - Number(other.gone));

/** Creates the list of all actors. `onSelect` is called with the key of an actor that is clicked. */
export const createActorList = (place: HTMLElement, onSelect: (key: string) => void) => {
  const item = (actor: InspectedActor, model: Model): HTMLElement => {
    const { selected, actors } = model;
    const label = labelOf(model, actor);
    const id = label === nameOf(actor) ? "" : `${nameOf(actor)}: `;
    const severalDirectories = new Set([...actors.values()].map(({ directory }) => directory)).size > 1;
    const directory = severalDirectories ? [make("small", "directory", lastOf(actor.directory, "/"))] : [];
    const button = make(
      "button",
      "",
      make("i", `dot ${toneOf(actor)}`),
      make("span", "name", label),
      ...directory,
      make("small", "state", `${id}${stateSummary(actor)}${endOf(actor)}`),
    );
    button.type = "button";
    button.title = actor.id || actor.directory;
    button.dataset.key = actor.key;
    button.classList.toggle("gone", actor.gone);
    if (actor.key === selected) button.setAttribute("aria-current", "true");
    return make("li", "", button);
  };

  place.addEventListener("click", ({ target }) => {
    const key = target instanceof Element ? target.closest("button")?.dataset.key : undefined;
    if (key !== undefined) onSelect(key);
  });

  return (model: Model): void => {
    const focused = place.contains(document.activeElement) ? document.activeElement : undefined;
    const key = focused instanceof HTMLElement ? focused.dataset.key : undefined;
    const all = [...model.actors.values()];
    place.replaceChildren(
      ...GROUPS.flatMap(([kind, title]) => {
        const actors = newestFirst(all.filter((actor) => actor.kind === kind));
        if (actors.length === 0) return [];
        const heading = make("h2", "", title, make("small", "", String(actors.filter(({ gone }) => !gone).length)));
        return [heading, make("ul", "", ...actors.map((actor) => item(actor, model)))];
      }),
    );
    if (all.length === 0) place.append(make("p", "none", "No actor yet."));
    // The list was rebuilt: restore the keyboard focus.
    if (key !== undefined) place.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`)?.focus();
  };
};
