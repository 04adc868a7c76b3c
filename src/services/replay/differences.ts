import { type StoredSnapshot, statePath } from "../../machines/task/machine.ts";

/** Something that is not the same on both sides. A side without it is undefined there. */
export interface Difference {
  /** Such as `lifecycle` or `context.error.message`. */
  path: string;
  journal: unknown;
  stored: unknown;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

function compare(path: string, journal: unknown, stored: unknown): Difference[] {
  if (Object.is(journal, stored)) return [];
  if (!isObject(journal) || !isObject(stored) || Array.isArray(journal) !== Array.isArray(stored)) {
    return [{ path, journal, stored }];
  }
  const keys = new Set([...Object.keys(journal), ...Object.keys(stored)]);
  return [...keys].flatMap((key) => compare(`${path}.${key}`, journal[key], stored[key]));
}

/** What is stored is JSON: it has no undefined, for instance. */
export const toJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

/** Where the snapshot that a journal leads to is not the one that was stored; nothing when they are the same. */
export const differences = (journal: StoredSnapshot, stored: StoredSnapshot): Difference[] => {
  const regions = new Set([...Object.keys(journal.value), ...Object.keys(stored.value)]) as Set<
    keyof typeof stored.value
  >;
  const states = [...regions].flatMap((region) =>
    compare(region, statePath(journal.value[region]), statePath(stored.value[region])),
  );
  return [...states, ...compare("context", toJson(journal.context), toJson(stored.context))];
};
