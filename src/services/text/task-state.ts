import { hasEnded, type Task, type TaskStatus, type WaitsFor } from "../../task.ts";
import type { OwnText } from "./own-text.ts";
import { incompleteInShort } from "./result-text.ts";

/** What a person sees first of a live task: it asks them, is silent, waits for its turn, or is at work. */
export type Urgency = "asks" | "silent" | "working" | "queued" | "ended";

/** What a task is called that waits, in a column of one or two words and in a few words. */
interface Names {
  /** Absent where its status says enough. */
  state?: "queued" | "offered" | "retrying" | "stopping";
  words: string;
}

const WAITS: Record<WaitsFor, Names> = {
  agent: { words: "working" },
  tasks: { words: "waits for its tasks" },
  person: { words: "blocked by a subtask" },
  slot: { state: "queued", words: "queued" },
  fleet: { state: "offered", words: "waits for a server" },
  server: { state: "offered", words: "waits for a server" },
  acceptance: { words: "starting" },
  // The host asks the provider again, or the prompt is sent again.
  provider: { state: "retrying", words: "its provider refuses" },
  retry: { state: "retrying", words: "sending its prompt again" },
  model: { words: "changing its model" },
  gate: { words: "running its gate" },
  check: { words: "checking result" },
  session: { words: "looking for its session" },
  abort: { words: "finding out who aborted it" },
  recovery: { words: "recovering" },
  stop: { state: "stopping", words: "stopping" },
};

/** A task of this version, or of another one, which may wait for something else. */
type ShownTask = Pick<Task, "status" | "attention" | "waiting">;

const namesOf = ({ waiting }: Pick<ShownTask, "waiting">): Names => {
  const known: Partial<Record<string, Names>> = WAITS;
  return waiting === undefined ? WAITS.agent : (known[waiting.for] ?? { words: `waits for ${waiting.for}` });
};

/** True for a task that nobody works on yet: it waits for a slot, or for a server of the fleet. */
export const isQueued = (task: Pick<ShownTask, "waiting">): boolean =>
  ["queued", "offered"].includes(namesOf(task).state ?? "");

export const urgencyOf = (task: ShownTask): Urgency => {
  if (hasEnded(task)) return "ended";
  if (task.attention) return task.attention.kind === "stale" ? "silent" : "asks";
  return isQueued(task) ? "queued" : "working";
};

/** Returns how a task stands in one or two words, for a column. */
export const stateOf = (task: ShownTask): "asks you" | "silent" | TaskStatus | NonNullable<Names["state"]> => {
  const urgency = urgencyOf(task);
  if (urgency === "asks") return "asks you";
  if (urgency === "silent") return "silent";
  return (urgency === "ended" ? undefined : namesOf(task).state) ?? task.status;
};

/** Returns what a live task does or waits for, in a few words. */
export const doingOf = (task: Pick<ShownTask, "waiting">): string => namesOf(task).words;

/** Returns how a task has ended, in a few words: why it failed, or what its result lacks, where that is known. */
export const endOf = ({
  status,
  error,
  incomplete,
}: Pick<Task, "status" | "error" | "incomplete">): OwnText | string => {
  if (status === "error") return error?.message ?? "failed";
  return (status === "completed" ? incompleteInShort({ incomplete }) : undefined) ?? status;
};

/** Returns how long the newest run has taken, or took, in milliseconds. `now` is epoch milliseconds. */
export const runTime = ({ runStartedAt, completedAt }: Pick<Task, "runStartedAt" | "completedAt">, now: number) =>
  (completedAt === undefined ? now : Date.parse(completedAt)) - Date.parse(runStartedAt);
