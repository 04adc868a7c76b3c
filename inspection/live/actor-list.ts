import type { InspectedActor } from "../../src/services/inspection/protocol.ts";
import { make } from "./element.ts";
import type { Model } from "./model.ts";
import { lastOf, nameOf, regionOf, stateName, telling, toneOf } from "./words.ts";

const statesInWords = ({ states }: InspectedActor): string =>
  telling(states)
    .map((path) => (path.startsWith("lifecycle.") ? regionOf(path).state : stateName(path)))
    .join(", ");

const GROUPS = [
  ["task", "Tasks"],
  ["outbox", "Outboxes"],
  ["supervisor", "Supervisor"],
] as const;

/** The newest task first, those that are gone last. */
const inOrder = (actors: InspectedActor[]): InspectedActor[] =>
  actors.toReversed().sort((one, other) => Number(one.gone) - Number(other.gone));

/** Lists all actors; `onSelect` is called with the key of the one that is clicked. */
export const createActorList = (place: HTMLElement, onSelect: (key: string) => void) => {
  const item = (actor: InspectedActor, { selected, actors }: Model): HTMLElement => {
    const severalDirectories = new Set([...actors.values()].map(({ directory }) => directory)).size > 1;
    const directory = severalDirectories ? [make("small", "directory", lastOf(actor.directory, "/"))] : [];
    const button = make(
      "button",
      "",
      make("i", `dot ${toneOf(actor)}`),
      make("span", "name", nameOf(actor)),
      ...directory,
      make("small", "state", actor.gone ? `${statesInWords(actor)}, at rest` : statesInWords(actor)),
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
        const actors = inOrder(all.filter((actor) => actor.kind === kind));
        if (actors.length === 0) return [];
        const heading = make("h2", "", title, make("small", "", String(actors.filter(({ gone }) => !gone).length)));
        return [heading, make("ul", "", ...actors.map((actor) => item(actor, model)))];
      }),
    );
    if (all.length === 0) place.append(make("p", "none", "No actor yet."));
    // The list is made anew; who went through it by keyboard stays where they were.
    if (key !== undefined) place.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`)?.focus();
  };
};
