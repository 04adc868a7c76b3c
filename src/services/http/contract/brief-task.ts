import { Buffer } from "node:buffer";
import { truncate } from "../../platform/plain-text.ts";
import type { ShownTask } from "./status-source.ts";

/** Characters of a text, and entries of a list, that a task has where it is one of many. */
const MOST_TEXT = 2_000;
const MOST_ENTRIES = 100;

/** Characters of all that a task asks, as JSON; what is beyond that is to be read at the task itself. */
const MOST_ASKED = 16_000;

/** A part of a text holds the whole of it in memory, in both runtimes, for as long as the part is there. A copy does not. */
const copied = (text: string): string => Buffer.from(text).toString();

/** The value with long texts and lists cut, however deep they are in it. The same one when nothing is cut. */
const bounded = (value: unknown): unknown => {
  if (typeof value === "string") return value.length > MOST_TEXT ? copied(`${truncate(value, MOST_TEXT)}…`) : value;
  if (Array.isArray(value)) {
    const kept = value.slice(0, MOST_ENTRIES).map(bounded);
    return kept.length === value.length && kept.every((entry, index) => entry === value[index]) ? value : kept;
  }
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value);
  const kept = entries.slice(0, MOST_ENTRIES).map(([key, entry]) => [key, bounded(entry)] as const);
  const isSame = kept.length === entries.length && kept.every(([, entry], index) => entry === entries[index]?.[1]);
  return isSame ? value : Object.fromEntries(kept);
};

/**
 * A task as it is shown among others, and in events: what it was asked and what it has answered may be megabytes.
 * `cut` names the fields that are not whole; a task of common size has none.
 */
export const briefTask = (task: ShownTask): ShownTask => {
  const brief = bounded(task) as ShownTask;
  const { attention } = brief;
  if (attention?.requests && JSON.stringify(attention.requests).length > MOST_ASKED) {
    const { requests: _, ...rest } = attention;
    return named(task, { ...brief, attention: rest });
  }
  return named(task, brief);
};

const named = (task: ShownTask, brief: ShownTask): ShownTask => {
  if (brief === task) return task;
  const names = Object.keys(task) as (keyof ShownTask)[];
  return { ...brief, cut: names.filter((name) => task[name] !== brief[name]) };
};
