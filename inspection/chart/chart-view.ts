import { sheetInside, sheetOfPlace, stateAround } from "../../src/machines/place.ts";
import type { Way } from "../../src/machines/way.ts";
import { type ChartName, inWords, transitionInWords } from "../../src/machines/words.ts";
import { find, make } from "../element.ts";
import { createChartMap } from "./chart-map.ts";
import { drawing, highlight, type Picture } from "./picture.ts";
import { reveal } from "./reveal.ts";
import { inSentences, type Marked, mark, sheetDrawing, sheetOfTransition } from "./sheet.ts";

/** An actor, and where in its chart it is. */
export interface Standing {
  /** Distinguishes it from other actors. */
  key: string;
  chart: ChartName;
  /** The innermost states that it is in. */
  states: readonly string[];
  way: Way;
}

/**
 * Creates in `place` the view of an actor's chart: the sheet where it is, which follows it, and on which each state leads to what is
 * inside; and on demand the whole chart on one drawing. Returns the function that shows an actor.
 */
export const createChartView = (place: HTMLElement) => {
  place.append(find<HTMLTemplateElement>("#chart-view").content.cloneNode(true));
  const pills = find<HTMLElement>(".states", place);
  const trail = find<HTMLElement>(".trail", place);
  const back = find<HTMLElement>(".back-to-now", place);
  const whole = find<HTMLElement>(".whole", place);
  const legend = find<HTMLElement>(".legend", place);
  const view = find<HTMLElement>(".sheet-view", place);
  const mapPlace = find<HTMLElement>(".map", place);
  const spoken = find<HTMLElement>(".sr", place);
  const map = createChartMap(mapPlace);
  // Without it, the arrow keys do not scroll in every browser.
  view.tabIndex = 0;

  let standing: Standing | undefined;
  /** The sheet that a person looks at; undefined while the view follows the actor. */
  let chosen: string | undefined;
  let isWhole = false;
  let pictures: [Picture, Picture] | undefined;

  const linkTo = (sheet: string, ...content: (Node | string)[]): HTMLElement => {
    const button = make("button", "", ...content);
    button.type = "button";
    button.title = "Show this part of the chart";
    button.addEventListener("click", () => choose(sheet));
    return button;
  };

  const showPills = ({ chart, states }: Standing) =>
    pills.replaceChildren(
      ...states.map((state) => {
        const [region = "", ...inside] = state.split(".");
        const parts = inside.length > 0 ? [make("span", "", region), " ", inside.join(".")] : [region];
        const pill = make("li", "", linkTo(sheetInside(chart, stateAround(state)), ...parts));
        pill.dataset.state = state;
        return pill;
      }),
    );

  const showTrail = (shown: string) => {
    const parts = shown.split(".");
    trail.replaceChildren(
      ...parts.slice(0, -1).flatMap((part, depth) => {
        const sheet = parts.slice(0, depth + 1).join(".");
        return [linkTo(sheet, inWords(part)), " › "];
      }),
      make("b", "", inWords(parts.at(-1) ?? "")),
    );
  };

  /** Says what the marks mean, and how it came to where it is: on this sheet, or on the one to which that leads. */
  const showLegend = (chart: ChartName, shown: string, { lit, passed, transition }: Marked) => {
    find<HTMLElement>(".is", legend).hidden = lit.length === 0;
    find<HTMLElement>(".was", legend).hidden = passed.length === 0;
    const by = find<HTMLElement>(".by", legend);
    by.hidden = transition === undefined;
    if (transition === undefined) return;
    const sheet = sheetOfTransition(transition);
    const words = transitionInWords(chart, transition);
    by.replaceChildren("came here: ", sheet === undefined || sheet === shown ? words : linkTo(sheet, words));
  };

  const speak = ({ passed, lit }: Marked) =>
    spoken.replaceChildren(
      ...passed.map((box) => make("p", "", `Passed on its way: ${inSentences(box).state}`)),
      ...lit.map((box) => {
        const { state, rows } = inSentences(box);
        const list = make("ul", "", ...rows.map((row) => make("li", "", row)));
        const section = make("section", "", make("p", "", state), list);
        section.setAttribute("aria-label", "Where it is, and what may follow");
        return section;
      }),
    );

  const showSheet = ({ chart, states, way }: Standing, shown: string) => {
    const sheet = sheetDrawing(shown);
    const isSame = view.dataset.shows === shown;
    view.dataset.shows = shown;
    view.replaceChildren(sheet.svg);
    if (!isSame) view.scrollTo({ left: 0, top: 0, behavior: "instant" });
    const marked = mark(sheet, states, way);
    showLegend(chart, shown, marked);
    speak(marked);
    // With its ways a box, or a row, would be as wide as the sheet.
    const seen = view.querySelector(".lit > rect") ?? view.querySelector(".taken > rect");
    if (seen) reveal(view, seen);
  };

  const showWhole = ({ chart, states, way }: Standing, sheet: string) => {
    if (pictures?.[0].chart !== chart) {
      pictures = [drawing(chart), drawing(chart)];
      map.show(...pictures);
    }
    for (const picture of pictures) highlight(picture, states, way);
    const [large] = pictures;
    const followed = states.filter((state) => sheetInside(chart, stateAround(state)) === sheet);
    map.follow(followed.flatMap((state) => large.states.get(state) ?? []));
  };

  const draw = () => {
    if (!standing) return;
    const now = sheetOfPlace(standing.chart, standing.states);
    const shown = chosen ?? now;
    back.hidden = isWhole || shown === now;
    whole.setAttribute("aria-pressed", String(isWhole));
    mapPlace.hidden = !isWhole;
    for (const part of [trail, legend, view, spoken]) part.hidden = isWhole;
    if (isWhole) return showWhole(standing, now);
    showTrail(shown);
    showSheet(standing, shown);
  };

  const choose = (sheet: string | undefined) => {
    chosen = sheet;
    isWhole = false;
    draw();
    view.scrollIntoView({ block: "nearest", behavior: "instant" });
    // What was clicked may be gone.
    if (!place.contains(document.activeElement)) view.focus({ preventScroll: true });
  };

  back.addEventListener("click", () => choose(undefined));
  whole.addEventListener("click", () => {
    isWhole = !isWhole;
    draw();
  });
  view.addEventListener("click", (event) => {
    const link = (event.target as Element).closest("a")?.getAttribute("href");
    if (!link) return;
    event.preventDefault();
    choose(link.replace(/\.svg$/, ""));
  });

  return (next: Standing): void => {
    if (JSON.stringify(next) === JSON.stringify(standing)) return;
    if (next.key !== standing?.key) chosen = undefined;
    standing = next;
    showPills(next);
    draw();
  };
};
