/** A span of time, in epoch milliseconds. `to` is undefined while it lasts. */
export interface Span {
  from: number;
  to: number | undefined;
}

/** Returns the spans cut to those limits, joined where they touch or overlap, in their order. */
const joined = (spans: readonly Span[], from: number, to: number): { from: number; to: number }[] => {
  const cut = spans
    .map((span) => ({ from: Math.max(span.from, from), to: Math.min(span.to ?? to, to) }))
    .filter((span) => span.to > span.from)
    .sort((one, other) => one.from - other.from);
  const whole: { from: number; to: number }[] = [];
  for (const span of cut) {
    const last = whole.at(-1);
    if (last && span.from <= last.to) last.to = Math.max(last.to, span.to);
    else whole.push(span);
  }
  return whole;
};

const lengthOf = (spans: readonly { from: number; to: number }[]): number =>
  spans.reduce((sum, { from, to }) => sum + (to - from), 0);

/** Returns how many milliseconds from `from` to `to` lie in one of `spans`, and in none of `except`. */
export const timeIn = (spans: readonly Span[], except: readonly Span[], from: number, to: number): number => {
  const both = joined([...spans, ...except], from, to);
  return lengthOf(both) - lengthOf(joined(except, from, to));
};
