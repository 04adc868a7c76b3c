import { useLayoutEffect, useRef } from "preact/hooks";
import { createChartView, type Standing } from "../../inspection/chart/chart-view.ts";
import { NO_WAY } from "../../src/machines/way.ts";
import { readWay } from "../api.ts";
import { useLoaded } from "../hooks.ts";

/** The part of a task's chart in which it is now, and how it came there. */
export const Chart = ({ id, states }: { id: string; states: string[] }) => {
  const place = useRef<HTMLDivElement>(null);
  const show = useRef<(standing: Standing) => void>(undefined);
  const { value: way = NO_WAY, problem } = useLoaded((signal) => readWay(id, signal), id, states.join());

  useLayoutEffect(() => {
    if (!place.current) return;
    show.current = createChartView(place.current);
  }, []);
  useLayoutEffect(() => show.current?.({ key: id, chart: "task", states, way }));
  // The tab may have been opened at the lower edge of the window.
  useLayoutEffect(() => {
    for (const part of [place.current, place.current?.querySelector(".lit rect")])
      part?.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
  }, [way === NO_WAY]);

  return (
    <>
      {problem !== undefined && <p class="problem">The way that it came could not be read: {problem}</p>}
      <div class="chart" ref={place} />
    </>
  );
};
