import prettyMilliseconds from "pretty-ms";
import type { Usage, WakeCosts } from "../../task.ts";
import { join, type OwnText, own, vouchFor } from "./own-text.ts";

/** The least amount above zero that is written as a number. */
const LEAST = 0.0001;

const cents = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const fractions = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 4 });

/**
 * Writes US dollars, such as `$1,234.50`: to the cent, and below one dollar with up to four digits after the point, since
 * tasks often cost less than a cent. Above zero it never writes zero: `under $0.0001`.
 */
export const dollars = (amount: number): OwnText => {
  if (amount > 0 && amount < LEAST) return own`under $${LEAST}`;
  return vouchFor(`$${(amount < 1 ? fractions : cents).format(amount)}`);
};

/** Formats milliseconds, such as `850ms`, `2.5s` or `1m 5s`. Negative durations count as 0. */
export const duration = (ms: number): OwnText => vouchFor(prettyMilliseconds(Math.max(0, Math.round(ms))));

/** Formats milliseconds in whole seconds with at most two units, such as `0s`, `1m 12s` or `2h 5m`: for a clock that runs. */
export const shortTime = (ms: number): OwnText =>
  vouchFor(ms < 1_000 ? "0s" : prettyMilliseconds(Math.floor(ms / 1_000) * 1_000, { unitCount: 2 }));

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

/** Writes a number with three digits at most, such as `12.3k`. */
export const compactNumber = (count: number): OwnText => vouchFor(compact.format(count).replace("K", "k"));

const countTokens = (tokens: number): OwnText => own`${compactNumber(tokens)} ${tokens === 1 ? "token" : "tokens"}`;

/**
 * Writes what work has cost, such as `$0.42, 120k tokens`. What the host does not report, which is zero, is left out;
 * undefined where that is both.
 */
export const formatUsage = ({ tokens, cost }: Usage): OwnText | undefined => {
  const known = [cost > 0 ? dollars(cost) : undefined, tokens > 0 ? countTokens(tokens) : undefined];
  return known.some((part) => part !== undefined) ? join(known, ", ") : undefined;
};

/** Writes the cost alone; the tokens where the host reports no cost. */
export const formatCost = ({ tokens, cost }: Usage): OwnText | undefined =>
  formatUsage({ tokens: cost > 0 ? 0 : tokens, cost });

// A task whose end was delivered together with others has a share of their wake.
const wakesWord = ({ wakes }: WakeCosts): OwnText =>
  wakes === 0 ? own`part of a wake` : own`${wakes} ${wakes === 1 ? "wake" : "wakes"}`;

/**
 * Writes what it cost to wake agents, such as `3 wakes: $0.12, 102k tokens (95k cached)`; undefined where nothing woke
 * one.
 */
export const formatWakes = (costs: WakeCosts | undefined): OwnText | undefined => {
  const used = costs && formatUsage(costs);
  if (costs === undefined || used === undefined) return undefined;
  const cached = costs.cachedTokens > 0 ? own`${used} (${compactNumber(costs.cachedTokens)} cached)` : used;
  return own`${wakesWord(costs)}: ${cached}`;
};

/** Writes the same in short, such as `3 wakes: $0.12`; the tokens where the host reports no cost. */
export const wakesInShort = (costs: WakeCosts | undefined): OwnText | undefined => {
  const used = costs && formatCost(costs);
  return used && own`${wakesWord(costs)}: ${used}`;
};

/** True when both are the same amount. */
const isSame = (a: Usage, b: Usage): boolean => a.tokens === b.tokens && a.cost === b.cost;

/**
 * Writes what work has cost, followed by what more of it, or less, has cost: `$0.42, 120k tokens (this batch: $1.10)`.
 * What is the same as before is not repeated.
 */
export const formatUsageWithin = (
  usage: Usage,
  wholes: readonly { name: "this batch" | "all tasks" | "its own runs"; usage: Usage }[],
): OwnText | undefined => {
  const shown = formatUsage(usage);
  if (shown === undefined) return undefined;
  const different = wholes.filter((whole, index) => !isSame(whole.usage, wholes[index - 1]?.usage ?? usage));
  const parts = different.flatMap((whole) => {
    const cost = formatCost(whole.usage);
    return cost === undefined ? [] : own`${whole.name}: ${cost}`;
  });
  return parts.length === 0 ? shown : own`${shown} (${join(parts, ", ")})`;
};
