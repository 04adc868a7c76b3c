import type { FleetServer, Task } from "../../task.ts";
import { fail, type Outcome } from "../platform/result.ts";
import { nameOf, own, quoteLine } from "../text/own-text.ts";
import type { Bus } from "./bus.ts";
import { VERSION } from "./messages.ts";

/**
 * Asks the server that has a task's conversation whether it can go on with it: nobody else can. A failure says why it cannot.
 * @param home the id of the server that launched the task
 */
export const mayResume = async (
  { bus, home }: { bus: Pick<Bus, "ask">; home: string },
  { sessionID, fleet }: Pick<Task, "sessionID" | "fleet">,
  { id, label }: FleetServer,
): Promise<Outcome<void>> => {
  const task = own`Task ${nameOf(sessionID)}`;
  const server = own`server ${quoteLine(label)}, where it ran`;
  // Only a task that was offered to others has been with one.
  const pool = fleet?.pool ?? "";
  const asked = await bus.ask(id, { v: VERSION, type: "mayResume", pool, home, task: sessionID });
  switch (asked.is) {
    case "answered": {
      const { obstacle } = asked.answer;
      if (obstacle === undefined) return { ok: true, value: undefined };
      return fail(own`${task} cannot be resumed: ${server}, says ${quoteLine(obstacle)}. Launch a new task.`);
    }
    case "silent":
      return fail(own`${task} cannot be resumed now: ${server}, does not answer. Try again when it is back.`);
    default:
      return fail(own`${task} cannot be resumed now: ${quoteLine(asked.message)}. Try again later.`);
  }
};
