import type { OpenUserRequest } from "../../../user-request.ts";
import { type ApiTask, briefRequest } from "../contract/api-task.ts";
import type { UserInteractionRequested, UserInteractionResponded } from "../contract/schemas.ts";
import type { StatusSource } from "../engine-source.ts";
import { sseFrame } from "./sse-stream.ts";

/** A task as far as its open requests go. */
type AskingTask = Pick<ApiTask, "sessionID" | "parentTaskId">;

/**
 * Creates what notices requests to the user, and their ends, from the tasks as they change. A request is listed by the task whose
 * agent asked and by all tasks above it; it counts for the first of them.
 */
export const createUserInteractions = (source: Pick<StatusSource, "task" | "journal">) => {
  /** The tasks that list open requests, with these. */
  const asking = new Map<string, { task: AskingTask; requests: readonly OpenUserRequest[] }>();
  /** The task that each open request counts for. */
  const known = new Map<string, string>();

  /** Requests that are too long for a task among others can be read at its own route only. */
  const requestsOf = ({ sessionID, attention, cut }: ApiTask): readonly OpenUserRequest[] =>
    attention?.requests ?? (cut?.includes("attention") ? (source.task(sessionID)?.attention?.requests ?? []) : []);

  /** Returns the open requests, each with the lowest task that lists it. */
  const open = () => {
    const found = new Map<string, { task: AskingTask; request: OpenUserRequest }>();
    for (const { task, requests } of asking.values()) {
      for (const request of requests) {
        const other = found.get(request.id);
        if (!other || isBelow(task, other.task)) found.set(request.id, { task, request });
      }
    }
    return found;
  };

  /** All tasks between two that list a request list it, too. */
  const isBelow = (task: AskingTask, other: AskingTask): boolean => {
    const { parentTaskId } = task;
    if (parentTaskId === undefined) return false;
    if (parentTaskId === other.sessionID) return true;
    const parent = asking.get(parentTaskId)?.task;
    return parent !== undefined && isBelow(parent, other);
  };

  const wasAnswered = (sessionID: string, requestId: string): boolean =>
    source.journal(sessionID)?.some((event) => event.type === "REQUEST_ANSWERED" && event.id === requestId) ?? false;

  return {
    /** Notes how a task is now. */
    note: (task: ApiTask): void => {
      const requests = requestsOf(task);
      const { sessionID, parentTaskId } = task;
      if (requests.length === 0) asking.delete(sessionID);
      else asking.set(sessionID, { task: { sessionID, ...(parentTaskId && { parentTaskId }) }, requests });
    },
    /** Notes that a task was cleared. */
    forget: (sessionID: string): void => void asking.delete(sessionID),
    /** Takes all that was noted for known. */
    begin: (): void => {
      known.clear();
      for (const [id, { task }] of open()) known.set(id, task.sessionID);
    },
    clear: (): void => {
      asking.clear();
      known.clear();
    },
    /** Returns the frames of what was asked and answered since the last call or `begin`, with this number. */
    frames: (at: number): string => {
      const now = open();
      const asked = [...now].flatMap(([id, { task, request }]) => {
        if (known.has(id)) return [];
        known.set(id, task.sessionID);
        const data: UserInteractionRequested = { sessionID: task.sessionID, ...briefRequest(request) };
        return sseFrame("UserInteractionRequested", JSON.stringify(data), at);
      });
      const ended = [...known].flatMap(([requestId, sessionID]) => {
        if (now.has(requestId)) return [];
        known.delete(requestId);
        const became = wasAnswered(sessionID, requestId) ? "answered" : "closed";
        const data: UserInteractionResponded = { sessionID, requestId, became };
        return sseFrame("UserInteractionResponded", JSON.stringify(data), at);
      });
      return [...ended, ...asked].join("");
    },
  };
};
