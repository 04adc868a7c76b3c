// ADR-165 in docs/decisions.md
import type { RunResult } from "../../../machines/task/events.ts";
import type { StoredSnapshot } from "../../../machines/task/machine.ts";
import { runResult } from "../../../machines/task/run-result.ts";
import { isSame } from "./stored-origin.ts";

/**
 * A snapshot as it is packed. What a notice says of the last run follows from the rest of the context, until a later run
 * begins: then its outcome stands for it.
 */
export type SnapshotInFile = Pick<StoredSnapshot, "value"> & {
  context: Omit<StoredSnapshot["context"], "lastRunResult"> & {
    lastRunResult?: RunResult | RunResult["outcome"] | undefined;
  };
};

const isEqual = (one: RunResult, other: RunResult): boolean => {
  const fields = Object.keys(one) as (keyof RunResult)[];
  return fields.length === Object.keys(other).length && fields.every((field) => isSame(one[field], other[field]));
};

/** Returns what to store of a snapshot. */
export const toSnapshotInFile = ({ value, context }: StoredSnapshot): SnapshotInFile => {
  const { lastRunResult: end } = context;
  const follows = end !== undefined && isEqual(end, runResult(context, end.outcome));
  return { value, context: { ...context, lastRunResult: follows ? end.outcome : end } };
};

/** Returns the snapshot that was stored; earlier versions stored every result whole. */
export const toSnapshot = ({ value, context }: SnapshotInFile): StoredSnapshot => {
  const { lastRunResult: end } = context;
  if (typeof end !== "string") return { value, context: context as StoredSnapshot["context"] };
  const rest = { ...context, lastRunResult: undefined };
  // In the place that it has in the chart's context, so that an export reads the same.
  return { value, context: { ...context, lastRunResult: runResult(rest, end) } };
};
