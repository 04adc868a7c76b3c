import type { ComponentChildren, HTMLAttributes } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { offsetsOf, ROW_HEIGHTS, type Row, rowAt } from "./rows.ts";

/** Pixels beyond the window for which rows are there already. */
const OVERSCAN = 400;

/** Pixels before the end at which more rows are asked for. */
const NEARLY_AT_END = 1_500;

interface VirtualListProps {
  rows: Row[];
  /** Index of the row that the keyboard is at; it is scrolled into view when `moved` changes. */
  active: number;
  moved: number;
  render(row: Row, index: number): ComponentChildren;
  onNearEnd(): void;
  /** Attributes of the scrolled element, which takes the keyboard. */
  attributes: HTMLAttributes<HTMLDivElement>;
}

/** A list of which only the rows in the window are in the page, however many there are. */
export const VirtualList = ({ rows, active, moved, render, onNearEnd, attributes }: VirtualListProps) => {
  const place = useRef<HTMLDivElement>(null);
  const [window, setWindow] = useState({ top: 0, height: 800 });
  const offsets = offsetsOf(rows);
  const whole = offsets.at(-1) ?? 0;
  /** The row at the top of the window, and how much of it is hidden: what a person reads stays where it is. */
  const anchor = useRef<{ key: string; hidden: number }>(undefined);

  const measure = () => {
    const view = place.current;
    if (!view) return;
    const index = rowAt(offsets, view.scrollTop);
    const row = rows[index];
    anchor.current =
      row && view.scrollTop > 0 ? { key: row.key, hidden: view.scrollTop - (offsets[index] ?? 0) } : undefined;
    setWindow((before) =>
      before.top === view.scrollTop && before.height === view.clientHeight
        ? before
        : { top: view.scrollTop, height: view.clientHeight },
    );
    if (view.scrollTop + view.clientHeight > whole - NEARLY_AT_END) onNearEnd();
  };

  /** Measures with the rows of the newest drawing, whenever that is asked for. */
  const measureNow = useRef(measure);
  measureNow.current = measure;

  // Rows that came or went above the window must not move what is in it.
  useLayoutEffect(() => {
    const view = place.current;
    const { key, hidden } = anchor.current ?? {};
    const index = key === undefined ? -1 : rows.findIndex((row) => row.key === key);
    if (view && index >= 0 && hidden !== undefined) {
      const wanted = (offsets[index] ?? 0) + hidden;
      if (Math.abs(view.scrollTop - wanted) >= 1) view.scrollTop = wanted;
    }
    measure();
  }, [rows]);

  useEffect(() => {
    const view = place.current;
    if (!view) return;
    const observer = new ResizeObserver(() => measureNow.current());
    observer.observe(view);
    return () => observer.disconnect();
  }, []);

  useLayoutEffect(() => {
    const view = place.current;
    const row = rows[active];
    if (!view || !row || moved === 0) return;
    const top = offsets[active] ?? 0;
    const bottom = top + ROW_HEIGHTS[row.kind];
    if (top < view.scrollTop) view.scrollTop = top;
    else if (bottom > view.scrollTop + view.clientHeight) view.scrollTop = bottom - view.clientHeight;
    measure();
  }, [moved]);

  const first = rowAt(offsets, window.top - OVERSCAN);
  const last = rowAt(offsets, window.top + window.height + OVERSCAN);
  return (
    <div {...attributes} ref={place} onScroll={measure}>
      <div role="presentation" class="whole" style={{ height: `${whole}px` }}>
        {rows.slice(first, last + 1).map((row, index) => (
          <div
            role="presentation"
            class="place"
            key={row.key}
            style={{ height: `${ROW_HEIGHTS[row.kind]}px`, transform: `translateY(${offsets[first + index]}px)` }}
          >
            {render(row, first + index)}
          </div>
        ))}
      </div>
    </div>
  );
};
