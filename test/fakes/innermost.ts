import { statePath } from "../../src/machines/chart.ts";

/** The innermost state of a region of a chart, such as `retrying` of `working.retrying`. */
export const innermost = (value: unknown): string => statePath(value).split(".").at(-1) ?? "";
