import type { InspectorStep } from "../../src/services/inspection/protocol.ts";
import { find, make } from "../element.ts";
import { nameOf, notableStates, stateName, timeOf, toneOf } from "./format.ts";
import { labelOf, type Model } from "./model.ts";

/** Pixels from one lane to the next: the more lanes, the closer they are, as long as the names can be read. */
const LANE = { max: 24, min: 12, all: 216 } as const;

const laneWidth = (lanes: number): number => Math.min(LANE.max, Math.max(LANE.min, LANE.all / lanes));

const KINDS = ["supervisor", "launch", "task", "outbox"] as const;

/** Returns the keys of the lanes: the outside first, as an empty key, then the actors of these steps by kind. */
const lanesOf = ({ actors }: Model, steps: InspectorStep[]): string[] => {
  const involved = new Set(steps.flatMap(({ from, to }) => [from, to]));
  const all = [...actors.values()].filter(({ key }) => involved.has(key));
  return ["", ...KINDS.flatMap((kind) => all.filter((actor) => actor.kind === kind).map(({ key }) => key))];
};

/**
 * Creates the sequence diagram: a column for each actor, a row for each event, time runs downwards. `onPick` is called
 * with the step that the person selects; undefined for the present.
 */
export const createSequenceView = (
  place: HTMLElement,
  model: Model,
  { onPick, onChange }: { onPick: (step: InspectorStep | undefined) => void; onChange: () => void },
) => {
  const scroll = find<HTMLElement>(".scroll", place);
  const list = find<HTMLElement>(".events", place);
  const head = find<HTMLElement>(".lanes", place);
  const only = find<HTMLInputElement>("input", place);
  const toNewest = find<HTMLButtonElement>(".newest", place);
  let lanes: string[] = [];
  let rows = new Map<number, HTMLElement>();

  const shown = (): InspectorStep[] =>
    only.checked ? model.steps.filter(({ from, to }) => [from, to].includes(model.selected ?? "")) : model.steps;

  const isAtEnd = () => scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 40;

  const goToEnd = () => scroll.scrollTo({ top: scroll.scrollHeight, behavior: "instant" });

  const arrow = ({ from, to }: InspectorStep): HTMLElement => {
    const [start, end] = [Math.max(0, lanes.indexOf(from ?? "")), lanes.indexOf(to)];
    const line = make("i", start < end ? "arrow right" : start > end ? "arrow left" : "arrow self");
    const width = laneWidth(lanes.length);
    line.style.left = `${(Math.min(start, end) + 0.5) * width}px`;
    line.style.width = `${Math.abs(end - start) * width}px`;
    return line;
  };

  const row = (step: InspectorStep, before: InspectorStep | undefined): HTMLElement => {
    const { number, at, event, entered, taken, to } = step;
    const time = timeOf(at);
    const label = make("span", "label", make("b", "", event));
    if (entered.length > 0) {
      label.append(make("em", "", notableStates(entered).map(stateName).join(", ")));
    }
    if (!taken) label.append(make("small", "", "ignored"));
    const item = make(
      "div",
      taken ? "" : "ignored",
      make("time", before && timeOf(before.at) === time ? "same" : "", time),
      make("span", "track", arrow(step)),
      label,
    );
    const actor = model.actors.get(to);
    const sender = step.from === null ? undefined : model.actors.get(step.from);
    const who = `${sender ? nameOf(sender) : "outside"} → ${actor ? nameOf(actor) : to}`;
    item.title = `${who}: ${event}${taken ? "" : " (ignored)"}`;
    item.id = `step-${number}`;
    item.dataset.step = String(number);
    item.setAttribute("role", "option");
    return item;
  };

  const showLanes = () => {
    place.style.setProperty("--lanes", String(lanes.length));
    place.style.setProperty("--lane", `${laneWidth(lanes.length)}px`);
    head.replaceChildren(
      ...lanes.map((key) => {
        const actor = model.actors.get(key);
        const name = make("span", "", actor ? labelOf(model, actor) : "outside");
        return make("div", actor?.gone ? "gone" : "", make("i", `dot ${actor ? toneOf(actor) : "plain"}`), name);
      }),
    );
  };

  const mark = () => {
    for (const [number, item] of rows) {
      item.setAttribute("aria-selected", String(number === model.pinned?.number));
    }
    for (const [index, lane] of [...head.children].entries()) {
      lane.classList.toggle("selected", lanes[index] === model.selected);
    }
    const index = lanes.indexOf(model.selected ?? "");
    place.style.setProperty("--selected", String(index < 0 ? -2 : index));
    if (model.pinned) list.setAttribute("aria-activedescendant", `step-${model.pinned.number}`);
    else list.removeAttribute("aria-activedescendant");
  };

  const render = (): void => {
    const staysAtEnd = isAtEnd() && !model.pinned;
    const steps = shown();
    const now = lanesOf(model, steps);
    if (now.join() !== lanes.join()) rows.clear();
    lanes = now;
    showLanes();
    const before = rows;
    rows = new Map(
      steps.map((step, index) => [step.number, before.get(step.number) ?? row(step, steps[index - 1])] as const),
    );
    const fresh = [...rows].filter(([number, item]) => before.get(number) !== item || !item.isConnected);
    for (const [number, item] of before) if (!rows.has(number)) item.remove();
    if (fresh.length === rows.size) list.replaceChildren(...rows.values());
    else list.append(...fresh.map(([, item]) => item));
    mark();
    if (staysAtEnd) goToEnd();
    toNewest.hidden = isAtEnd();
  };

  const pick = (step: InspectorStep | undefined) => {
    onPick(step);
    if (step) rows.get(step.number)?.scrollIntoView({ block: "nearest" });
    else goToEnd();
  };

  list.addEventListener("click", ({ target }) => {
    const number = Number(
      target instanceof Element ? target.closest<HTMLElement>("[data-step]")?.dataset.step : undefined,
    );
    const step = model.steps.find((one) => one.number === number);
    pick(step === model.pinned ? undefined : step);
  });
  list.addEventListener("keydown", (key) => {
    const steps = shown();
    const index = steps.findIndex(({ number }) => number === model.pinned?.number);
    const last = steps.length - 1;
    const here = index < 0 ? steps.length : index;
    const wanted = { ArrowUp: Math.max(0, here - 1), ArrowDown: here + 1, Home: 0, End: last }[key.key];
    if (wanted === undefined) return;
    key.preventDefault();
    pick(steps[wanted]);
  });
  only.addEventListener("change", () => {
    rows.clear();
    onChange();
    goToEnd();
  });
  toNewest.addEventListener("click", () => pick(undefined));
  scroll.addEventListener("scroll", () => {
    toNewest.hidden = isAtEnd();
  });

  return render;
};
