import type { TaskEvent } from "../../machines/task/events.ts";
import type { Task } from "../../task.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import { fail, type Outcome } from "../platform/result.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { type InstructionSource, instructionText } from "../text/child-prompts.ts";

/** A further instruction for a running task. */
export interface SteerRequest {
  parentSessionID: string;
  /** The task's id or a unique prefix of it. */
  taskId: string;
  prompt: string;
  /** Who gives it: the child learns it. */
  from: InstructionSource;
}

/** Dependencies of steering. */
export interface SteerDeps {
  runtime: Runtime;
  clock: Clock;
  ids: Ids;
  find(parentSessionID: string, id: string): Outcome<Task>;
  get(taskId: string): Task | undefined;
}

/**
 * Creates a function that gives a running task a further instruction. It returns once the instruction is stored with the
 * task; from then on it is sent until it is in the child's conversation. A failure says why it was not taken.
 */
export const createSteer =
  ({ runtime, clock, ids, find, get }: SteerDeps) =>
  ({ parentSessionID, taskId, prompt, from }: SteerRequest): Outcome<Task> => {
    const found = find(parentSessionID, taskId);
    if (!found.ok) return found;
    if (prompt.trim() === "") return fail("The prompt is empty: say what the agent should take into account.");
    const { sessionID } = found.value;
    const event: TaskEvent = {
      type: "STEER",
      at: clock.now(),
      messageID: ids.message(),
      partID: ids.parts(1)[0] ?? "",
      prompt: instructionText(prompt, from),
    };
    const refusal = runtime.refusalReason(sessionID, event);
    if (refusal !== undefined) return fail(`Task ${sessionID} cannot be steered: it ${refusal}.`);
    runtime.send(sessionID, event);
    const task = get(sessionID);
    return task ? { ok: true, value: task } : fail(`Task ${sessionID} was cleared.`);
  };
