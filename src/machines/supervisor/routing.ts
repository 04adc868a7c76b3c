import type { HostEvent } from "../host-events.ts";
import type { OutboxEvent } from "../outbox/events.ts";
import type { TaskEvent } from "../task/events.ts";

/** Translates a host event for the task that runs in its session; undefined when it means nothing to it. */
export const toTaskEvent = (event: HostEvent, at: number): TaskEvent | undefined => {
  switch (event.type) {
    case "idle":
      return { type: "HOST_IDLE", at };
    case "error":
      return { type: "HOST_ERROR", at, error: event.error };
    case "deleted":
      return { type: "SESSION_DELETED", at };
    case "asked":
      return { type: "REQUEST_ASKED", at, request: event.request };
    case "replied":
      return { type: "REQUEST_ANSWERED", at, id: event.requestID };
    default:
      return undefined;
  }
};

/** Translates a host event for the outbox of its session; undefined when it means nothing to it. */
export const toOutboxEvent = (event: HostEvent, at: number): OutboxEvent | undefined => {
  switch (event.type) {
    case "busy":
      return { type: "PARENT_BUSY", at };
    case "idle":
      return { type: "PARENT_IDLE", at };
    case "error":
      return { type: "PARENT_ERROR", at, message: event.error.message };
    case "deleted":
      return { type: "PARENT_CLOSED", at };
    case "message": {
      const { id, role, promptID, createdAt, isSummary } = event.message;
      if (role === "user") return { type: "PARENT_STORED", at, messageID: id, createdAt };
      return promptID === undefined || isSummary ? undefined : { type: "PARENT_ANSWERED", at, promptID, createdAt };
    }
    default:
      return undefined;
  }
};
