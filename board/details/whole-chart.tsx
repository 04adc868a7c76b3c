import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { type ChartMap, createChartMap } from "../../inspection/chart/chart-map.ts";
import { drawing, highlight, type Picture } from "../../inspection/chart/picture.ts";

/** The chart of a task on one drawing, which can be moved, with the states that it is in lit up. */
export const WholeChart = ({ states }: { states: string[] }) => {
  const place = useRef<HTMLDivElement>(null);
  const shown = useRef<{ map: ChartMap; pictures: Picture[] }>(undefined);
  const before = useRef<string[]>([]);

  useLayoutEffect(() => {
    if (!place.current) return;
    const map = createChartMap(place.current);
    const [large, small] = [drawing("task"), drawing("task")];
    map.show(large, small);
    shown.current = { map, pictures: [large, small] };
  }, []);

  const key = states.join(" ");
  useEffect(() => {
    const { map, pictures } = shown.current ?? {};
    const [large] = pictures ?? [];
    if (!map || !large) return;
    const now = key.split(" ");
    const entered = now.filter((state) => !before.current.includes(state));
    const left = before.current.filter((state) => !now.includes(state));
    for (const picture of pictures ?? []) highlight(picture, now, { event: "", entered, left });
    before.current = now;
    const run = now.find((state) => state.startsWith("run.") && state !== "run.idle") ?? now[0];
    const part = run === undefined ? undefined : large.states.get(run);
    if (part) map.follow([part]);
  }, [key]);

  return (
    <div class="map" ref={place}>
      <section class="picture" aria-label="Chart; the arrow keys move it" />
      <div class="overview" aria-hidden="true">
        <div class="frame" />
      </div>
      <div class="tools">
        <label>
          <input type="checkbox" defaultChecked /> Follow
        </label>
        <button type="button" data-zoom="out" aria-label="Smaller">
          −
        </button>
        <button type="button" data-zoom="in" aria-label="Larger">
          +
        </button>
        <button type="button" data-zoom="fit">
          Fit
        </button>
      </div>
    </div>
  );
};
