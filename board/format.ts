import prettyMilliseconds from "pretty-ms";
import { compactNumber, dollars } from "../src/services/text/amounts.ts";

/** Formats milliseconds to the second, such as `1m 5s`; below one second to the millisecond. */
export const duration = (ms: number): string =>
  prettyMilliseconds(Math.max(0, ms < 1_000 ? Math.round(ms) : Math.floor(ms / 1_000) * 1_000), {
    ...(ms >= 3_600_000 ? { unitCount: 2 } : {}),
  });

/** Formats a number of tokens, such as `12.3k`; empty for none, which the host reports where it does not know. */
export const tokens = (count: number): string => (count === 0 ? "" : compactNumber(count));

/** Formats US dollars; empty for none. */
export const cost = (amount: number): string => (amount === 0 ? "" : dollars(amount));

/** Formats what was used: `12.3k tokens · $0.42`; empty where the host reported nothing. */
export const usage = (used: { tokens: number; cost: number }): string =>
  [used.tokens === 0 ? "" : `${tokens(used.tokens)} tokens`, cost(used.cost)].filter((part) => part !== "").join(" · ");

/** Formats a count with its noun, such as `1 task` or `12 tasks`. */
export const count = (number: number, noun: string): string =>
  `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

const clock = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hour12: false,
});
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });

/** Formats a time of day, with the date where that is not today. */
export const time = (at: string | number, now: number = Date.now()): string => {
  const date = new Date(at);
  const isToday = new Date(now).toDateString() === date.toDateString();
  return isToday ? clock.format(date) : `${day.format(date)}, ${clock.format(date)}`;
};

/** Returns the last part of a path. */
export const lastPart = (path: string): string => path.slice(path.lastIndexOf("/") + 1) || path;

/** Characters of an id that are shown: the last ones, since ids of the same hour begin alike. */
const ID_CHARS = 6;

export const shortId = (id: string): string => (id.length > ID_CHARS + 2 ? `…${id.slice(-ID_CHARS)}` : id);

/** Returns the first line of a text that has something in it. */
export const firstLine = (text: string): string => text.trim().split("\n", 1)[0] ?? "";
