import { createChartView } from "../chart/chart-view.ts";
import { find, make } from "../element.ts";
import { notableStates, stateName, timeOf } from "./format.ts";
import { labelOf, type Model, shownState } from "./model.ts";

/** Describes a change of states in a few words: `working → verifying`. */
const change = (left: string[], entered: string[]): string => {
  const names = (states: string[]) => notableStates(states).map(stateName).join(", ");
  return left.length === 0 ? names(entered) : `${names(left)} → ${names(entered)}`;
};

/** Creates the view of the selected actor. `onNow` is called when the person goes back to the present. */
export const createActorView = (place: HTMLElement, onNow: () => void) => {
  const heading = find<HTMLElement>("h2", place);
  const id = find<HTMLElement>("code", place);
  const lastTransition = find<HTMLElement>(".last-transition", place);
  const past = find<HTMLElement>(".past", place);
  const chart = find<HTMLElement>(".chart", place);
  const showChart = createChartView(chart);

  find("button", past).addEventListener("click", onNow);

  return (model: Model): void => {
    const now = shownState(model);
    place.hidden = !now;
    if (!now) return;
    const { actor, states, way, lastTransition: step } = now;
    heading.textContent = labelOf(model, actor);
    id.textContent = heading.textContent.endsWith(actor.id || "-") ? "" : actor.id || actor.directory;
    lastTransition.replaceChildren(
      make("b", "", step.event),
      step.entered.length > 0 ? ` ${change(step.left, step.entered)}` : " changed no state",
      make("time", "", step.at > 0 ? timeOf(step.at) : ""),
    );
    past.hidden = !model.pinned;
    if (model.pinned) find("span", past).textContent = `As it was at ${timeOf(model.pinned.at)}.`;

    showChart({ key: actor.key, chart: actor.kind, states, way });
    for (const pill of chart.querySelectorAll<HTMLElement>(".states li"))
      pill.classList.toggle("entered", step.entered.includes(pill.dataset.state ?? ""));
  };
};
