import type { Task } from "../task.ts";
import type { Clock } from "./clock.ts";
import type { ForkedSession } from "./forking.ts";
import type { NewSession } from "./host.ts";
import type { Ids } from "./ids.ts";
import { type LaunchRequest, type LaunchRules, planLaunch } from "./launching.ts";
import { launchMark } from "./leftovers.ts";
import { type Log, reasonOf } from "./log.ts";
import { type Outcome, refuse } from "./outcome.ts";
import type { ProgressLog } from "./progress.ts";
import type { Runtime } from "./runtime.ts";
import type { Store } from "./store/store.ts";

/** A task that was launched. */
export interface Launched {
  task: Task;
  /** Why the host did not fork the conversation, if it should have: the task has it as text. */
  forkRefusal: string | undefined;
}

/** What launches work with. */
export interface LaunchParts extends LaunchRules {
  store: Store;
  runtime: Runtime;
  progress: ProgressLog;
  clock: Clock;
  ids: Ids;
  log: Log;
  forkSession(parentSessionID: string, messageID: string, wanted: NewSession): Promise<ForkedSession>;
  get(taskId: string): Task | undefined;
}

/** Who asks where no agent does. */
const USER = "user";

/** Launches tasks. */
export interface Launches {
  launch(request: LaunchRequest): Promise<Outcome<Launched>>;
  /** The session was stopped or deleted: what it is launching just now is not launched. */
  orphan(parentSessionID: string): void;
  /** What is being launched just now is not launched. */
  stop(): void;
}

/** Nothing is being launched yet. */
export const createLaunches = (parts: LaunchParts): Launches => {
  const { host, store, runtime, progress, clock, ids, log } = parts;
  /** Launches whose session is being made, with what became of their parent meanwhile. */
  const underWay = new Set<{ parentSessionID: string; orphaned: boolean }>();

  const makeSession = async (
    { fork, parentSessionID, parentMessageID }: LaunchRequest,
    wanted: NewSession,
  ): Promise<Outcome<ForkedSession>> => {
    try {
      if (!fork) {
        const created = await host.createSession(wanted);
        if (!created.ok) return refuse(created.failure.message, "host");
        return { ok: true, value: { id: created.value.id, refusal: undefined } };
      }
      return { ok: true, value: await parts.forkSession(parentSessionID, parentMessageID, wanted) };
    } catch (error) {
      return refuse(reasonOf(error), "host");
    }
  };

  const launch = async (request: LaunchRequest): Promise<Outcome<Launched>> => {
    const plan = await planLaunch(parts, request);
    if (!plan.ok) return plan;
    const { description, batchId, model, permission, parentTask } = plan.value;
    const { parentSessionID, parentMessageID, parentAgent, agent, prompt, directory, fork, priority } = request;
    if (request.signal.aborted) return refuse("The turn was aborted; nothing was launched.");
    const messageID = ids.message();
    const pending = { parentSessionID, orphaned: false };
    underWay.add(pending);
    store.beginLaunch({ messageID, parentSessionID, at: clock.now(), fork });
    const made = await makeSession(request, {
      parentID: parentSessionID,
      title: `${description} (@${agent} subagent)`,
      agent,
      model,
      permission,
      metadata: launchMark(parentSessionID, messageID),
    });
    underWay.delete(pending);
    if (!made.ok) {
      store.endLaunch(messageID);
      return refuse(`OpenCode made no session for the task: ${made.reason}. Try again.`, "host");
    }
    const sessionID = made.value.id;
    if (pending.orphaned || request.signal.aborted) {
      const removed = await host.deleteSession(sessionID);
      if (removed.ok) store.endLaunch(messageID);
      else log.error("a session made for nothing stays", { sessionID, reason: removed.failure.message });
      return refuse("The calling session, or OpenCode, was stopped meanwhile; nothing was launched.");
    }
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
    const task = parts.get(sessionID);
    return task
      ? { ok: true, value: { task, forkRefusal: made.value.refusal } }
      : refuse("The task was launched and has ended already; the list shows it no more.");
  };

  return {
    launch,
    orphan: (parentSessionID) => {
      for (const pending of underWay) if (pending.parentSessionID === parentSessionID) pending.orphaned = true;
    },
    stop: () => {
      for (const pending of underWay) pending.orphaned = true;
    },
  };
};
