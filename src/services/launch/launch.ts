import type { Task } from "../../task.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import { fail, type Outcome } from "../platform/result.ts";
import type { ProgressLog } from "../runtime/progress.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Store } from "../store/store.ts";
import type { SessionFactory } from "./create-session.ts";
import { type LaunchRequest, type LaunchRules, planLaunch } from "./launch-plan.ts";
import type { OrphanedLaunches } from "./orphaned-launches.ts";

/** A task that was launched. */
export interface Launched {
  task: Task;
  /** Why the host did not fork the conversation, if it should have: the task has it as text. */
  forkRefusal: string | undefined;
}

/** What launches work with. */
export interface LaunchDeps extends LaunchRules {
  store: Store;
  runtime: Runtime;
  progress: ProgressLog;
  clock: Clock;
  ids: Ids;
  createSession: SessionFactory["create"];
  orphanedLaunches: Pick<OrphanedLaunches, "abandon">;
  get(taskId: string): Task | undefined;
}

/** Who asks where no agent does. */
const USER = "user";

/** Launches tasks. */
export interface Launches {
  launch(request: LaunchRequest): Promise<Outcome<Launched>>;
  /** The session was stopped or deleted: what it is launching just now is not launched. */
  cancelPending(parentSessionID: string): void;
  /** What is being launched just now is not launched. */
  stop(): void;
}

/** Nothing is being launched yet. */
export const createLaunches = (deps: LaunchDeps): Launches => {
  const { store, runtime, progress, clock, ids, orphanedLaunches } = deps;
  /** Launches whose session is being made, with what became of their parent meanwhile. */
  const underWay = new Set<{ parentSessionID: string; orphaned: boolean }>();

  const launch = async (request: LaunchRequest): Promise<Outcome<Launched>> => {
    const plan = await planLaunch(deps, request);
    if (!plan.ok) return plan;
    const { description, batchId, model, permission, parentTask } = plan.value;
    const { parentSessionID, parentMessageID, parentAgent, agent, prompt, directory, fork, priority } = request;
    if (request.signal.aborted) return fail("The turn was aborted; nothing was launched.");
    const pending = { parentSessionID, orphaned: false };
    const isWanted = () => !pending.orphaned && !request.signal.aborted;
    underWay.add(pending);
    const session = {
      parentID: parentSessionID,
      title: `${description} (@${agent} subagent)`,
      agent,
      model,
      permission,
    };
    const made = await deps.createSession(request, session, isWanted);
    underWay.delete(pending);
    if (!isWanted()) {
      if (made.ok) await orphanedLaunches.abandon(made.value.launch, made.value.id);
      return fail("The calling session, or OpenCode, was stopped meanwhile; nothing was launched.");
    }
    if (!made.ok) return made;
    const { id: sessionID, forkRefusal } = made.value;
    const { messageID } = made.value.launch;
    const at = clock.now();
    progress.begin(sessionID, at);
    runtime.dispatch({
      type: "LAUNCH",
      at,
      task: {
        facts: {
          sessionID,
          parentSessionID,
          parentMessageID,
          parentAgent,
          ...(parentTask ? { parentTaskId: parentTask.sessionID } : {}),
          author: parentAgent || USER,
          directory,
          description,
          prompt,
          agent,
          model,
          startedAt: new Date(at).toISOString(),
          batchId,
          isForked: fork,
          priority,
        },
        run: { index: 0, messageID, partID: ids.parts(1)[0] ?? "", prompt, startedAt: at },
      },
    });
    store.endLaunch(messageID);
    const task = deps.get(sessionID);
    return task
      ? { ok: true, value: { task, forkRefusal } }
      : fail("The task was launched and has ended already; the list shows it no more.");
  };

  return {
    launch,
    cancelPending: (parentSessionID) => {
      for (const pending of underWay) if (pending.parentSessionID === parentSessionID) pending.orphaned = true;
    },
    stop: () => {
      for (const pending of underWay) pending.orphaned = true;
    },
  };
};
