import type { SnapshotFrom } from "xstate";
import { getShortestPaths, getSimplePaths } from "xstate/graph";
import type { SupervisorEvent } from "../../src/machines/supervisor/events.ts";
import { hasId, supervisorMachine } from "../../src/machines/supervisor/machine.ts";
import { initialSnapshot } from "../../src/machines/task/machine.ts";
import { START, taskInput } from "../fakes/task-input.ts";

export type SupervisorSnapshot = SnapshotFrom<typeof supervisorMachine>;

/** A fault of a task's actor, as XState tells the supervisor of it. */
type ActorFault = { type: `xstate.error.actor.${string}`; actorId: string; error: Error };

/** A launch that is over, as XState tells the supervisor of it. */
type ActorEnd = { type: `xstate.done.actor.${string}`; actorId: string };

/** What happens to a supervisor of two tasks of one parent. */
export type SupervisorStep = SupervisorEvent | ActorFault | ActorEnd;

/** The first is launched here. The second is one that a process which is gone has left behind, with its notice under way. */
export const [FIRST, SECOND] = ["first", "second"] as const;
export const PARENT = "ses_parent";

const fault: ActorFault = { type: `xstate.error.actor.${FIRST}`, actorId: FIRST, error: new Error("a fault of ours") };

/** What can come about in a state, in the ids of this file. */
const stepsIn = ({ value, context: { tasks, outboxes } }: SupervisorSnapshot): SupervisorStep[] => {
  if (value === "closed") return [];
  const live = [FIRST, SECOND].filter((id) => hasId(tasks, id));
  // An outbox without tasks and without anything to tell goes at once.
  if (live.length === 0 && hasId(outboxes, PARENT)) return [{ type: "REAP_OUTBOX", id: PARENT }];
  return [
    ...(hasId(tasks, FIRST) ? [] : [{ type: "LAUNCH", at: START, task: taskInput(FIRST) } as const]),
    ...(hasId(tasks, SECOND) ? [] : [{ type: "RESTORE", snapshot: initialSnapshot(taskInput(SECOND)) } as const]),
    ...live.flatMap((id): SupervisorStep[] => [
      { type: "TASK", id, event: { type: id === FIRST ? "CANCEL" : "RESULT_READ", at: START } },
      { type: "HOST", at: START, event: { type: "idle", sessionID: id } },
      { type: "REAP_TASK", id },
    ]),
    { type: "CLOSE" },
  ];
};

const options = {
  events: (snapshot: SupervisorSnapshot) => stepsIn(snapshot) as SupervisorEvent[],
  serializeState: ({ value, context }: SupervisorSnapshot) => JSON.stringify([value, context]),
};

const stepsOf = ({ steps }: { steps: { event: unknown }[] }): SupervisorStep[] =>
  steps.slice(1).map(({ event }) => event as SupervisorStep);

/**
 * For every state that two tasks can bring the supervisor to: a shortest way there, with each thing that may happen then.
 * A fault of an actor is always the last: the engine mends it at once, of which the chart knows nothing.
 */
export const supervisorPaths = (): SupervisorStep[][] =>
  getShortestPaths(supervisorMachine, options).flatMap((path) => {
    const { value, context } = path.state;
    const faults = value === "open" && hasId(context.tasks, FIRST) ? [fault] : [];
    return [...stepsIn(path.state), ...faults].map((step) => [...stepsOf(path), step]);
  });

/** Every way without a circle. */
export const simpleSupervisorPaths = (): SupervisorStep[][] =>
  getSimplePaths(supervisorMachine, options).map((path) => stepsOf(path));
