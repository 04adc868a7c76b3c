import type { HostEvent } from "../../machines/host-events.ts";
import type { Task } from "../../task.ts";
import type { EventBus } from "../platform/listeners.ts";

/** What the parts of an engine announce to each other. `services/engine/reactions.ts` lists what follows from it. */
export interface EngineEvents {
  /** A task's chart took a step, which is stored; or the task was cleared. */
  taskChanged: Task;
  /** Another process has taken over these tasks, or removed them. Some have ended, and were still to be delivered. */
  tasksLost: Task[];
  /** A session was deleted, as the host said or as was found by asking it. */
  sessionDeleted: { sessionID: string };
  /** The host should have sent this event: what it says was found by asking. */
  missedHostEvent: HostEvent;
  /** The server that works on the task has reported what it did: progress has it. */
  usedElsewhere: { taskId: string };
  /** A run was taken over from another process: this is what the host has stored of it. */
  storedEventsRead: readonly HostEvent[];
}

export type EngineBus = EventBus<EngineEvents>;
