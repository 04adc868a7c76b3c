import { createChartMap } from "../chart/chart-map.ts";
import { drawing, highlight, type Picture } from "../chart/picture.ts";
import { find, make } from "../element.ts";
import { notableStates, regionOf, stateName, timeOf } from "./format.ts";
import { labelOf, type Model, shownState } from "./model.ts";

/** Describes a change of states in a few words: `working → verifying`. */
const change = (left: string[], entered: string[]): string => {
  const names = (states: string[]) => notableStates(states).map(stateName).join(", ");
  return left.length === 0 ? names(entered) : `${names(left)} → ${names(entered)}`;
};

/** Creates the view of the selected actor's chart. `onNow` is called when the person goes back to the present. */
export const createChartView = (place: HTMLElement, onNow: () => void) => {
  const heading = find<HTMLElement>("h2", place);
  const id = find<HTMLElement>("code", place);
  const states = find<HTMLElement>(".states", place);
  const lastTransition = find<HTMLElement>(".last-transition", place);
  const past = find<HTMLElement>(".past", place);
  const map = createChartMap(find(".map", place));
  let pictures: { kind: string; large: Picture; small: Picture } | undefined;
  let seen = "";

  find("button", past).addEventListener("click", onNow);

  const picturesOf = (kind: string) => {
    if (pictures?.kind === kind) return pictures;
    pictures = { kind, large: drawing(kind), small: drawing(kind) };
    map.show(pictures.large, pictures.small);
    seen = "";
    return pictures;
  };

  return (model: Model): void => {
    const now = shownState(model);
    place.hidden = !now;
    if (!now) return;
    const { actor, lastTransition: step } = now;
    heading.textContent = labelOf(model, actor);
    id.textContent = heading.textContent.endsWith(actor.id || "-") ? "" : actor.id || actor.directory;
    states.replaceChildren(
      ...now.states.map((path) => {
        const { region, state } = regionOf(path);
        const pill = make("li", "", ...(region === "" ? [] : [make("span", "", region)]), state);
        pill.dataset.state = path;
        pill.classList.toggle("entered", step.entered.includes(path));
        return pill;
      }),
    );
    lastTransition.replaceChildren(
      make("b", "", step.event),
      step.entered.length > 0 ? ` ${change(step.left, step.entered)}` : " changed no state",
      make("time", "", step.at > 0 ? timeOf(step.at) : ""),
    );
    past.hidden = !model.pinned;
    if (model.pinned) find("span", past).textContent = `As it was at ${timeOf(model.pinned.at)}.`;

    const { large, small } = picturesOf(actor.kind);
    for (const picture of [large, small]) highlight(picture, now.states, now.way);
    const key = `${actor.key} ${step.number}`;
    if (key === seen) return;
    seen = key;
    const focus = step.entered.length > 0 ? step.entered.slice(0, 1) : now.states.slice(0, 1);
    map.follow(focus.flatMap((path) => large.states.get(path) ?? []));
  };
};
