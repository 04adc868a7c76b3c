import { onServer } from "../../services/text/model-and-server.ts";
import { sharedFiles } from "../../services/text/overlap-text.ts";
import { doingOf, endOf, isQueued } from "../../services/text/task-state.ts";
import { ordinal } from "../../services/text/waiting-text.ts";
import { hasEnded } from "../../task.ts";
import type { Tone } from "./line.ts";
import type { Row } from "./tasks.ts";

/** How a row stands: what its sign is, in which colour, and in a few words. */
export interface Standing {
  sign: string;
  tone: Tone;
  words: string;
}

const liveStanding = ({ task, request }: Row): Standing => {
  if (request) return { sign: "▲", tone: "warning", words: `asks: ${request.what}` };
  const words = doingOf(task);
  const waitsFor = task.waiting?.for ?? "agent";
  if (isQueued(task)) {
    const place = waitsFor === "slot" ? task.queue?.place : undefined;
    return { sign: "○", tone: "muted", words: place === undefined ? words : `${ordinal(place)} in the queue` };
  }
  if (waitsFor === "agent") {
    if (task.attention?.kind === "stale") return { sign: "●", tone: "warning", words: "silent" };
    const shared = sharedFiles(task.progress.overlaps);
    if (shared !== undefined) return { sign: "●", tone: "warning", words: shared };
    const tool = task.progress.lastTools.at(-1);
    return { sign: "●", tone: "accent", words: [tool, onServer(task)].filter(Boolean).join(" ") || words };
  }
  if (waitsFor === "provider") return { sign: "●", tone: "warning", words };
  return { sign: "●", tone: waitsFor === "person" || waitsFor === "tasks" ? "accent" : "muted", words };
};

const ENDED: Record<"completed" | "error" | "cancelled", Omit<Standing, "words">> = {
  completed: { sign: "✓", tone: "success" },
  error: { sign: "✗", tone: "error" },
  cancelled: { sign: "⊘", tone: "muted" },
};

/** Returns how a row stands. For one that has failed, or whose result is not known to be whole, the words are the reason. */
export const standingOf = (row: Row): Standing => {
  const { task } = row;
  if (!hasEnded(task)) return liveStanding(row);
  const standing = { ...ENDED[task.status as keyof typeof ENDED], words: endOf(task) };
  return task.status === "completed" && task.incomplete ? { ...standing, tone: "warning" } : standing;
};
