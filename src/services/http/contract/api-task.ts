import { Buffer } from "node:buffer";
import { z } from "@hono/zod-openapi";
import { TaskWithUsageSchema } from "../../../task-schema.ts";
import type { OpenUserRequest } from "../../../user-request.ts";
import { ChangedFileSchema, LeftOutSchema } from "../../../worktree-changes.ts";
import { truncate } from "../../platform/plain-text.ts";

export const ApiTask = TaskWithUsageSchema.extend({
  states: z
    .array(z.string())
    .describe("The innermost states that its statechart is in, one of each region, such as `run.active.working.busy`."),
  allowed: z.array(z.string()).describe("The types of events that its statechart would accept now."),
  why: z
    .string()
    .optional()
    .describe(
      'What the run under way waits for and what ends that, in words that follow "Waits for". `waiting` says since when.',
    ),
  cut: z
    .array(z.string())
    .optional()
    .describe(
      "Where it is one of many: the fields whose values are shortened, or left out. Its own route returns them complete.",
    ),
}).meta({ id: "Task", description: "A background task. Times are ISO 8601." });
export type ApiTask = z.infer<typeof ApiTask>;

export const Changes = z
  .object({
    tree: z.string().describe("The folder of the tree that the worktree was made from: `apply` changes it."),
    worktree: z.string().describe("The folder of the worktree."),
    patch: z.string().describe("A file with the changes, for `git apply`. There is none where nothing was changed."),
    files: z.array(ChangedFileSchema).describe("The changed files, by path."),
    diff: z
      .string()
      .optional()
      .describe(
        "What is in that file, as git writes it: of more than 500,000 characters as many whole files as fit. Absent where there is none, and in the answers to `apply` and `discard`.",
      ),
    isDiffCut: z.literal(true).optional().describe("Present where `diff` lacks files: `patch` has them."),
    leftOut: z
      .array(LeftOutSchema)
      .optional()
      .describe("What lies in the worktree and is not among the changes. Absent where that is nothing."),
    cutOff: z
      .object({
        became: z.enum(["finished", "undone"]).describe("All of the changes are in the tree now, or none of them."),
        left: z
          .array(
            z.object({
              path: z.string().describe("From the top of the tree, with slashes."),
              before: z
                .string()
                .optional()
                .describe("Where what stood there before is kept. Absent where nothing did."),
            }),
          )
          .describe("Files that were changed since the attempt, and stay as they are."),
      })
      .optional()
      .describe(
        "What became of an earlier attempt to apply the changes, which was cut off and found now. Absent where there was none.",
      ),
    became: z
      .enum(["clean", "applied", "discarded", "expired", "sent"])
      .optional()
      .describe(
        "Why the worktree is gone: nothing was changed in it, its changes were applied or discarded, it was kept for long enough, or its changes were sent to the server that launched the task. Absent while it is there.",
      ),
  })
  .meta({ id: "Changes", description: "What an ended task left changed in its worktree." });
export type Changes = z.infer<typeof Changes>;

/** The limits for a task among others: characters of a text, and entries of a list or an object. */
const MAX_TEXT_CHARS = 2_000;
const MAX_ENTRIES = 100;

/** Characters of a task's open requests, as JSON. Beyond that they can be read at the task's own route only. */
const MAX_REQUESTS_CHARS = 16_000;

/** In both runtimes a substring keeps the whole string in memory for as long as it lives. A copy does not. */
const detached = (text: string): string => Buffer.from(text).toString();

/** Returns the value with texts and lists shortened at any depth; the same object when nothing is too long. */
const shorten = (value: unknown): unknown => {
  if (typeof value === "string") {
    return value.length > MAX_TEXT_CHARS ? detached(`${truncate(value, MAX_TEXT_CHARS)}…`) : value;
  }
  if (Array.isArray(value)) {
    const kept = value.slice(0, MAX_ENTRIES).map(shorten);
    return kept.length === value.length && kept.every((entry, index) => entry === value[index]) ? value : kept;
  }
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value);
  const kept = entries.slice(0, MAX_ENTRIES).map(([key, entry]) => [key, shorten(entry)] as const);
  const isSame = kept.length === entries.length && kept.every(([, entry], index) => entry === entries[index]?.[1]);
  return isSame ? value : Object.fromEntries(kept);
};

/**
 * Shortens a task that is returned among others, or in an event: its prompt and result may be megabytes. `cut` names the
 * shortened fields; a task of common size has none.
 */
export const briefTask = (task: ApiTask): ApiTask => {
  const brief = shorten(task) as ApiTask;
  const { attention } = brief;
  if (attention?.requests && JSON.stringify(attention.requests).length > MAX_REQUESTS_CHARS) {
    const { requests: _, ...rest } = attention;
    return withCut(task, { ...brief, attention: rest });
  }
  return withCut(task, brief);
};

/**
 * Returns a function that shows tasks whole as long as all of these have at most so many characters as JSON, and those that go
 * beyond that briefly.
 */
export const wholeWithin = (most: number): ((task: ApiTask) => ApiTask) => {
  let left = most;
  return (task) => {
    const length = JSON.stringify(task).length;
    if (length > left) return briefTask(task);
    left -= length;
    return task;
  };
};

/** Shortens a request that is sent by itself, as in a task among others. What is left out is at the task's own route. */
export const briefRequest = ({
  id,
  kind,
  what,
  since,
  questions,
  always,
}: OpenUserRequest): { request: OpenUserRequest; isCut?: true } => {
  const short = { id, kind, what, since };
  const whole: OpenUserRequest = { ...short, ...(questions && { questions }), ...(always && { always }) };
  if (JSON.stringify(whole).length <= MAX_REQUESTS_CHARS) return { request: whole };
  return { request: shorten(short) as OpenUserRequest, isCut: true };
};

const withCut = (task: ApiTask, brief: ApiTask): ApiTask => {
  if (brief === task) return task;
  const names = Object.keys(task) as (keyof ApiTask)[];
  return { ...brief, cut: names.filter((name) => task[name] !== brief[name]) };
};

/** A task that changed, with the numbers that `ChangedTask` explains. */
export interface ApiTaskChange {
  change: number;
  createdChange: number;
  task: ApiTask;
}

/** Thrown while there is nothing to read from; the message says why. */
export class SourceUnavailable extends Error {}

/** Why something could not be done. */
export interface SourceFailure {
  ok: false;
  reason: string;
  /**
   * - `task`: its state does not allow it, or no process supervises it
   * - `host`: OpenCode refuses
   * - `late`: the process that supervises the task has not responded in time, and may still do it
   */
  cause: "task" | "host" | "late";
}

export type SourceResult<T> = { ok: true; value: T } | SourceFailure;
