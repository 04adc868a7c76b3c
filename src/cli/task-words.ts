import type { ApiTask } from "../client/api-types.ts";
import { toSingleLine } from "../services/platform/plain-text.ts";
import { hasEnded } from "../task.ts";
import type { Cell } from "./table.ts";

/** Characters of an id that are shown at least: ids of tasks that are launched together begin alike. */
const SHORTEST = 6;

/** Returns an id without the beginning that all have. */
const bare = (id: string): string => id.replace(/^ses_/, "");

/**
 * Returns the short ids of some tasks: beginnings, all of one length, of which no two are the same. As with git, they may be
 * given in place of the ids.
 */
export const shortIds = (ids: readonly string[]): ReadonlyMap<string, string> => {
  const sorted = [...new Set(ids)].sort();
  const sharedWithNext = sorted.map((id, index) => {
    const next = bare(sorted[index + 1] ?? "");
    const differs = [...bare(id)].findIndex((character, place) => character !== next[place]);
    return differs < 0 ? bare(id).length : differs;
  });
  const length = Math.max(SHORTEST, ...sharedWithNext.map((shared) => shared + 1));
  return new Map(sorted.map((id) => [id, bare(id).slice(0, length)]));
};

const UNITS = [
  ["d", 86_400],
  ["h", 3_600],
  ["m", 60],
  ["s", 1],
] as const;

/** Formats milliseconds with at most two units, such as `42s`, `2m 13s` or `3h 5m`. */
export const shortTime = (ms: number): string => {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const first = UNITS.findIndex(([, size]) => seconds >= size);
  if (first < 0) return "0s";
  let left = seconds;
  return UNITS.slice(first, first + 2)
    .flatMap(([unit, size]) => {
      const count = Math.floor(left / size);
      left -= count * size;
      return count === 0 ? [] : [`${count}${unit}`];
    })
    .join(" ");
};

/** Returns how long the newest run took, or has taken until `now`. */
export const runTime = (task: ApiTask, now: number): number =>
  (hasEnded(task) ? Date.parse(task.completedAt ?? task.runStartedAt) : now) - Date.parse(task.runStartedAt);

/** What a person is to see of a task first: the lower, the earlier. */
export const RANK = { asks: 0, silent: 1, live: 2, queued: 3, ended: 4 } as const;
export type Rank = (typeof RANK)[keyof typeof RANK];

/** Says how a task stands in one or two words, and how much that matters to a person. */
export const standing = (task: ApiTask): Cell & { rank: Rank } => {
  if (task.attention?.kind === "stale") return { text: "silent", style: "yellow", rank: RANK.silent };
  if (task.attention) return { text: "asks you", style: ["bold", "yellow"], rank: RANK.asks };
  if (!hasEnded(task)) {
    if (task.waiting?.for === "slot") {
      return { text: task.queue ? `queued #${task.queue.place}` : "queued", style: "cyan", rank: RANK.queued };
    }
    if (task.waiting?.for === "fleet" || task.waiting?.for === "server")
      return { text: "offered", style: "cyan", rank: RANK.queued };
    // OpenCode asks the provider again, or the prompt is sent again.
    if (task.waiting?.for === "provider" || task.waiting?.for === "retry")
      return { text: "retrying", style: "yellow", rank: RANK.live };
    if (task.waiting?.for === "stop") return { text: "stopping", style: "yellow", rank: RANK.live };
    return { text: toSingleLine(task.status), style: "blue", rank: RANK.live };
  }
  if (task.status === "completed") return { text: "completed", style: "green", rank: RANK.ended };
  return { text: toSingleLine(task.status), style: task.status === "error" ? "red" : "gray", rank: RANK.ended };
};

/** Sorts tasks as a person wants them: what waits for them, what is at work, what is queued, what ended last. */
export const byUrgency = (one: ApiTask, other: ApiTask): number => {
  const [a, b] = [standing(one).rank, standing(other).rank];
  if (a !== b) return a - b;
  if (a === RANK.queued) return (one.queue?.place ?? 0) - (other.queue?.place ?? 0);
  if (a === RANK.ended) return (other.completedAt ?? "").localeCompare(one.completedAt ?? "");
  return one.runStartedAt.localeCompare(other.runStartedAt) || one.sessionID.localeCompare(other.sessionID);
};
