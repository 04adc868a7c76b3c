import prettyMilliseconds from "pretty-ms";
import { type OwnText, vouchFor } from "./own-text.ts";

/** Formats milliseconds, such as `850ms`, `2.5s` or `1m 5s`. Negative durations count as 0. */
export const duration = (ms: number): OwnText => vouchFor(prettyMilliseconds(Math.max(0, Math.round(ms))));
