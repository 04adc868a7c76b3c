import { statePath } from "../../machines/chart.ts";
import type { StoredSnapshot } from "../../machines/task/machine.ts";

/** A value that differs between the two snapshots. Undefined on the side that lacks it. */
export interface Difference {
  /** Path of the value, such as `lifecycle` or `context.error.message`. */
  path: string;
  journal: unknown;
  stored: unknown;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

/** What earlier versions did not store, and the charts do without. */
const ADDED = /^context\.(?:waitingSince|interruptedAt|lostRequests|redoesStep|given|blockedCalls\.\d+\.since)$/;

const isOfEarlierVersion = ({ path, stored }: Difference): boolean => stored === undefined && ADDED.test(path);

function compare(path: string, journal: unknown, stored: unknown): Difference[] {
  if (Object.is(journal, stored)) return [];
  if (!isObject(journal) || !isObject(stored) || Array.isArray(journal) !== Array.isArray(stored)) {
    return [{ path, journal, stored }];
  }
  const keys = new Set([...Object.keys(journal), ...Object.keys(stored)]);
  return [...keys].flatMap((key) => compare(`${path}.${key}`, journal[key], stored[key]));
}

/** Returns a value as it is after storing and reading it: without undefined, for instance. */
export const toJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

/** Compares the snapshot that a journal replays to with the stored one. Returns an empty list when they are the same. */
export const snapshotDifferences = (journal: StoredSnapshot, stored: StoredSnapshot): Difference[] => {
  const regions = new Set([...Object.keys(journal.value), ...Object.keys(stored.value)]) as Set<
    keyof typeof stored.value
  >;
  const states = [...regions].flatMap((region) =>
    compare(region, statePath(journal.value[region]), statePath(stored.value[region])),
  );
  const context = compare("context", toJson(journal.context), toJson(stored.context));
  return [...states, ...context.filter((found) => !isOfEarlierVersion(found))];
};
