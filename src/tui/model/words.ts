import prettyMilliseconds from "pretty-ms";
import { incompleteInShort } from "../../services/text/incomplete.ts";
import { sharedFiles } from "../../services/text/overlaps.ts";
import { ordinal } from "../../services/text/queue.ts";
import { onServer } from "../../services/text/server.ts";
import { hasEnded, type WaitsFor } from "../../task.ts";
import type { Tone } from "./line.ts";
import type { PanelTask } from "./panel-task.ts";
import type { Row } from "./rows.ts";

/** How a row stands: what its sign is, in which colour, and in a few words. */
export interface Standing {
  sign: string;
  tone: Tone;
  words: string;
}

/** Formats milliseconds in at most two units, without fractions and from one second on: `45s`, `1m 12s`, `2h 5m`. */
export const elapsed = (ms: number): string =>
  prettyMilliseconds(Math.max(1, Math.floor(ms / 1_000)) * 1_000, { unitCount: 2 });

/** Returns how long the newest run has taken, or took, in milliseconds. `now` is epoch milliseconds. */
export const runTime = ({ runStartedAt, completedAt }: PanelTask, now: number): number =>
  (completedAt === undefined ? now : Date.parse(completedAt)) - Date.parse(runStartedAt);

/** What a run does, or waits for, where the agent itself is not at work. Another version may wait for something else. */
const WAITS: Partial<Record<WaitsFor, string>> = {
  acceptance: "starting",
  retry: "OpenCode is asked again",
  check: "its end is checked",
  session: "looking for its session",
  abort: "aborted, finding out by whom",
  recovery: "taken over, is checked",
  stop: "stopping",
};

const liveStanding = ({ task, request }: Row): Standing => {
  if (request) return { sign: "▲", tone: "warning", words: `asks: ${request.what}` };
  const waitsFor = task.waiting?.for ?? "agent";
  switch (waitsFor) {
    case "agent": {
      if (task.attention?.kind === "stale") return { sign: "●", tone: "warning", words: "silent" };
      const shared = sharedFiles(task.progress.overlaps);
      if (shared !== undefined) return { sign: "●", tone: "warning", words: shared };
      const tool = task.progress.lastTools.at(-1);
      return { sign: "●", tone: "accent", words: [tool, onServer(task)].filter(Boolean).join(" ") || "working" };
    }
    case "slot":
      return { sign: "○", tone: "muted", words: task.queue ? `${ordinal(task.queue.place)} in the queue` : "queued" };
    case "provider":
      return { sign: "●", tone: "warning", words: "its provider refuses" };
    case "person":
      return { sign: "●", tone: "accent", words: "held up by a task below" };
    case "tasks":
      return { sign: "●", tone: "accent", words: "waits for its tasks" };
    case "fleet":
    case "server":
      return { sign: "○", tone: "muted", words: "waits for a server" };
    default:
      return { sign: "●", tone: "muted", words: WAITS[waitsFor] ?? `waits for ${waitsFor}` };
  }
};

const ENDED: Record<"completed" | "error" | "cancelled", Omit<Standing, "words">> = {
  completed: { sign: "✓", tone: "success" },
  error: { sign: "✗", tone: "error" },
  cancelled: { sign: "⊘", tone: "muted" },
};

/** Says how a row stands. For one that has failed, or whose result is not known to be whole, the words are the reason. */
export const standingOf = (row: Row): Standing => {
  const { task } = row;
  if (!hasEnded(task)) return liveStanding(row);
  const status = task.status as keyof typeof ENDED;
  const incomplete = status === "completed" ? incompleteInShort(task) : undefined;
  if (incomplete !== undefined) return { ...ENDED.completed, tone: "warning", words: incomplete };
  return { ...ENDED[status], words: status === "error" ? (task.error?.message ?? "failed") : status };
};
