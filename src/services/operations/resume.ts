import type { TaskEvent } from "../../machines/task/events.ts";
import type { FleetServer, ModelRef, OrderedRun, Task } from "../../task.ts";
import type { SessionDirectories } from "../host/directories.ts";
import type { Host } from "../host/host.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import { fail, type Outcome } from "../platform/result.ts";
import type { ProgressLog } from "../runtime/progress.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { modelName } from "../text/model-and-server.ts";
import type { ToolNames } from "../text/notice.ts";
import { nameOf, own, quoteLine } from "../text/own-text.ts";
import type { Worktrees } from "../worktrees/worktrees.ts";

/** A follow-up prompt for a completed task. */
export interface ResumeRequest {
  parentSessionID: string;
  /** The task's id or a unique prefix of it. */
  taskId: string;
  prompt: string;
  /** The agent that the caller expects. A request with another agent than the task's is refused: tasks never change it. */
  agent: string | undefined;
  /** The model that the caller expects. A request with another model than the task's is refused, too. Default: none. */
  model?: string | undefined;
  /**
   * Checks whether the caller may use the task's agent, which may involve asking the user. Rejects with the reason if
   * not. Default: it may.
   */
  permit?(task: Task): Promise<void>;
  /** Of another server's task: whose run it is, and by which claim. */
  order?: OrderedRun;
  /** Aborted when the caller's turn is aborted; after that nothing is sent. */
  signal: AbortSignal;
}

/** Dependencies of resuming. */
export interface ResumeDeps {
  host: Host;
  runtime: Runtime;
  progress: ProgressLog;
  clock: Clock;
  ids: Ids;
  tools: ToolNames;
  find(parentSessionID: string, id: string): Outcome<Task>;
  get(taskId: string): Task | undefined;
  /** Sees to it that the task has the directory that it works in. */
  prepareWorktree: Worktrees["prepare"];
  /** Says whether the server that has a task's conversation can go on with it; a failure says why it cannot. */
  mayResumeElsewhere(task: Task, server: FleetServer): Promise<Outcome<void>>;
  sessionDirectories: Pick<SessionDirectories, "enter">;
  /** Starts reading all ancestors of a session, so that its requests reach the session that the user looks at. */
  loadAncestors(sessionID: string): void;
}

/** Returns the model that a task was launched with, and that its next run begins with: the first that a run was refused by. */
const ownModelOf = ({ model, refusedModels: [first] = [] }: Task): ModelRef | undefined =>
  first === undefined ? model : first.model;

/** Creates a function that sends a follow-up prompt to a completed task's own session. A failure says why it cannot. */
export const createResume = (deps: ResumeDeps) => {
  const {
    host,
    runtime,
    progress,
    clock,
    ids,
    tools,
    find,
    get,
    prepareWorktree,
    mayResumeElsewhere,
    sessionDirectories,
    loadAncestors,
  } = deps;
  const resumeEvent = ({ prompt, order }: ResumeRequest): TaskEvent => {
    const [messageID, partID = ""] = [ids.message(), ...ids.parts(1)];
    return { type: "RESUME", at: clock.now(), messageID, partID, prompt, ...(order ? { order } : {}) };
  };

  /** Sees to it that the task has all that it goes on with: its worktree, or the server that has its conversation. */
  const prepare = (task: Task, signal: AbortSignal): Promise<Outcome<void>> =>
    task.server === undefined ? prepareWorktree(task, signal) : mayResumeElsewhere(task, task.server);

  return async (request: ResumeRequest): Promise<Outcome<Task>> => {
    const found = find(request.parentSessionID, request.taskId);
    if (!found.ok) return found;
    const { sessionID, agent } = found.value;
    const model = ownModelOf(found.value);
    if (request.prompt.trim() === "") return fail("The prompt is empty: say what the agent should do next.");
    if (request.agent !== undefined && request.agent.toLowerCase() !== agent.toLowerCase()) {
      return fail(
        own`A task never changes its agent: task ${nameOf(sessionID)} works with ${quoteLine(agent)}. Leave agent out.`,
      );
    }
    if (request.model !== undefined && (model === undefined || request.model !== modelName(model))) {
      const ofTask =
        model === undefined ? own`` : own`: task ${nameOf(sessionID)} works with ${quoteLine(modelName(model))}`;
      return fail(own`A task never changes its model${ofTask}. Leave model out, or launch a new task with it.`);
    }
    const refusal = () => {
      const reason = runtime.refusalReason(sessionID, resumeEvent(request));
      return reason === undefined ? undefined : fail(`Task ${sessionID} cannot be resumed: ${reason}.`);
    };
    const refusedAtOnce = refusal();
    if (refusedAtOnce) return refusedAtOnce;
    await request.permit?.(found.value);
    const session = await host.session(sessionID);
    if (!session.ok && session.failure.kind === "notFound") {
      return fail(`The session of task ${sessionID} does not exist any more. Start a new task with ${tools.launch}.`);
    }
    if (!session.ok) {
      const message = quoteLine(session.failure.message);
      return fail(own`OpenCode did not find the task's session: ${message}. Try again.`, "host");
    }
    if (session.value.isReverted) {
      return fail(
        `The user has taken back messages of task ${sessionID} (undo), which a resume would delete for good. Have them redo that, or write to the task's conversation, and resume it then.`,
      );
    }
    const prepared = await prepare(found.value, request.signal);
    if (!prepared.ok) return prepared;
    loadAncestors(sessionID);
    if (request.signal.aborted) return fail("The turn was aborted; nothing was sent.");
    // Another resume may have started while the host or the user was being asked.
    const refusedNow = refusal();
    if (refusedNow) return refusedNow;
    const { overlaps: _, ...counted } = found.value.progress;
    progress.begin(sessionID, clock.now(), counted);
    if (found.value.worktree && !found.value.server)
      sessionDirectories.enter(sessionID, found.value.worktree.directory);
    runtime.send(sessionID, resumeEvent(request));
    const task = get(sessionID);
    return task ? { ok: true, value: task } : fail(`Task ${sessionID} was cleared.`);
  };
};
