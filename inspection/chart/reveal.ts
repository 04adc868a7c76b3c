/** Pixels that stay free around what is moved into view. */
const MARGIN = 24;

interface Span {
  start: number;
  end: number;
}

/** Returns by how much a window has to move to show all of a part, or its beginning. */
const moveTo = (part: Span, window: Span): number => {
  const before = part.start - MARGIN - window.start;
  return before < 0 ? before : Math.max(0, Math.min(part.end + MARGIN - window.end, before));
};

/** Returns how far something has to be scrolled to show a part of it. */
const wayTo = (view: HTMLElement, part: Element): { left: number; top: number } => {
  const [box, window] = [part.getBoundingClientRect(), view.getBoundingClientRect()];
  return {
    left: moveTo({ start: box.left, end: box.right }, { start: window.left, end: window.right }),
    top: moveTo({ start: box.top, end: box.bottom }, { start: window.top, end: window.bottom }),
  };
};

/** Scrolls no further than it needs to show a part. */
export const reveal = (view: HTMLElement, part: Element): void =>
  view.scrollBy({ ...wayTo(view, part), behavior: "instant" });

/** Scrolls to the nearest of these parts where none of them is seen any more. */
export const revealNearest = (view: HTMLElement, parts: readonly Element[]): void => {
  const window = view.getBoundingClientRect();
  const isSeen = (part: Element) => {
    const { left, right, top, bottom } = part.getBoundingClientRect();
    return left < window.right && right > window.left && top < window.bottom && bottom > window.top;
  };
  if (parts.some(isSeen)) return;
  const distance = (part: Element): number => Math.hypot(...Object.values(wayTo(view, part)));
  const [nearest] = parts.toSorted((one, other) => distance(one) - distance(other));
  if (nearest) reveal(view, nearest);
};
