import { toSingleLine } from "../services/platform/plain-text.ts";
import { CommandError } from "./command.ts";

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** What a help text says of durations. */
export const DURATION = "A duration is a number with ms, s, m, h or d: 90s, 10m, 24h, 7d.";

/** Reads a duration as a person writes it. Returns milliseconds. @throws CommandError that names the option */
export const readDuration = (option: string, text: string): number => {
  const [, number = "", unit = ""] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text) ?? [];
  const ms = Number(number) * (UNITS[unit] ?? Number.NaN);
  if (ms > 0) return ms;
  throw new CommandError(`--${option} takes a duration such as 10m or 24h, not "${toSingleLine(text)}".`);
};
