import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { isInState, placeOf, stateAround } from "../../src/machines/task/place.ts";
import { WholeChart } from "./whole-chart.tsx";

/** The sheets of the chart, by their files' names. */
const sheet = (file: string): SVGSVGElement | undefined =>
  document.querySelector<HTMLTemplateElement>(`template[data-sheet="${file}"]`)?.content.querySelector("svg") ??
  undefined;

const sheetAround = (state: string): string => `task.${stateAround(state)}`;

/** Lights up the states that the task is in. Returns their boxes. */
const light = (drawing: SVGSVGElement, states: string[]): SVGGElement[] =>
  [...drawing.querySelectorAll<SVGGElement>(".box")].filter((box) => {
    const isLit = states.some((state) => isInState(state, box.dataset.state ?? ""));
    box.classList.toggle("lit", isLit);
    return isLit;
  });

/** What a box says, for those who do not see it: what the state is, and what may follow. */
const inWords = (box: SVGGElement): string[] => {
  const texts = (parent: Element, selector: string) =>
    [...parent.querySelectorAll(selector)].map(({ textContent }) => textContent).join(" ");
  const rows = [...box.querySelectorAll(":scope > g")].map((row) => texts(row, "text"));
  return [`${texts(box, ":scope > a > .name, :scope > .name")}. ${texts(box, ":scope > .is")}`, ...rows];
};

/** The part of a task's chart in which it is now, with its states lit up; each state leads to what is inside. */
export const Chart = ({ states }: { states: string[] }) => {
  const place = useRef<HTMLDivElement>(null);
  /** What a person looks at; undefined while the view follows the task. */
  const [chosen, choose] = useState<string>();
  const [isWhole, setWhole] = useState(false);
  const [words, say] = useState<string[][]>([]);
  const now = `task.${placeOf(states)}`;
  const shown = chosen ?? now;
  const key = states.join(" ");

  useLayoutEffect(() => {
    const drawing = sheet(shown)?.cloneNode(true) as SVGSVGElement | undefined;
    if (!place.current || !drawing) return;
    // As an image it could hold no links.
    drawing.setAttribute("role", "group");
    place.current.replaceChildren(drawing);
    const lit = light(drawing, key.split(" "));
    say(lit.map(inWords));
    const [first] = lit;
    if (!first) return;
    const [box, window] = [first.getBoundingClientRect(), place.current.getBoundingClientRect()];
    place.current.scrollBy({ left: box.left - window.left - 16, top: box.top - window.top - 60, behavior: "instant" });
  }, [shown, key, isWhole]);

  const follow = (event: MouseEvent) => {
    const link = (event.target as Element).closest("a")?.getAttribute("href");
    if (!link) return;
    event.preventDefault();
    choose(link.replace(/\.svg$/, ""));
  };

  return (
    <>
      <ul class="states" aria-label="States it is in">
        {states.map((state) => (
          <li key={state} data-state={state}>
            <button type="button" title="Show this part of the chart" onClick={() => choose(sheetAround(state))}>
              <span>{state.slice(0, state.indexOf("."))}</span> {state.slice(state.indexOf(".") + 1)}
            </button>
          </li>
        ))}
      </ul>
      <p class="chart-tools">
        {chosen !== undefined && chosen !== now && (
          <button type="button" onClick={() => choose(undefined)}>
            Back to where it is
          </button>
        )}
        <button type="button" aria-pressed={isWhole} onClick={() => setWhole(!isWhole)}>
          Whole chart
        </button>
      </p>
      {isWhole ? (
        <WholeChart states={states} />
      ) : (
        <>
          {/* biome-ignore lint/a11y/noStaticElementInteractions: the links inside are what is clicked */}
          {/* biome-ignore lint/a11y/useKeyWithClickEvents: the keyboard clicks links */}
          <div class="sheet-view" ref={place} onClick={follow} />
          <div class="sr">
            {words.map(([state, ...rows]) => (
              <section key={state} aria-label="Where it is, and what may follow">
                <p>{state}</p>
                <ul>
                  {rows.map((row) => (
                    <li key={row}>{row}</li>
                  ))}
                </ul>
              </section>
            ))}
          </div>
        </>
      )}
    </>
  );
};
