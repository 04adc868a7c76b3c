// A launch asks for the permission that OpenCode's own task tool asks for: docs/decisions/036-the-permission-task.md
import type { Launched, LaunchRequest } from "../services/engine/requests.ts";
import type { Outcome } from "../services/platform/result.ts";
import { shortDescription } from "../task.ts";
import type { CallContext, ToolDeps } from "./define-tool.ts";

/** The part of a launch request that the caller decides; the rest follows from who calls. */
type CallerRequest = Pick<LaunchRequest, "description" | "prompt" | "agent"> &
  Partial<Pick<LaunchRequest, "batchId" | "fork" | "model" | "priority" | "schema" | "wake" | "worktree">>;

/** Resolves as `work` does, or to undefined as soon as the signal is aborted; the work itself is not interrupted. */
const untilAborted = <T>(signal: AbortSignal, work: Promise<T>): Promise<T | undefined> =>
  new Promise((resolve, reject) => {
    const abort = () => resolve(undefined);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });

/**
 * Asks the host whether the calling agent may use that agent, as the host's own task tool does: `plan` may not use
 * `general`, which could write files for it. A user who names an agent in a prompt has thereby allowed it.
 * @throws Error in the host's words if the agent may not be used.
 */
export const requirePermission = async (
  { permission }: Pick<ToolDeps, "permission">,
  context: CallContext,
  agent: string,
  description: string,
): Promise<void> => {
  if (context.extra?.bypassAgentCheck) return;
  const metadata = { description: shortDescription(description), subagent_type: agent };
  await context.ask({ permission, patterns: [agent], always: ["*"], metadata });
};

/**
 * Launches a task for the agent that called a tool. Resolves to undefined if its turn was aborted first; the launch is
 * then undone.
 * @throws Error if the calling agent may not use that agent.
 */
export const launchForCaller = async (
  context: CallContext,
  deps: Pick<ToolDeps, "engine" | "permission">,
  wanted: CallerRequest,
): Promise<Outcome<Launched> | undefined> => {
  const request: LaunchRequest = {
    batchId: undefined,
    model: undefined,
    fork: false,
    priority: 0,
    schema: undefined,
    wake: undefined,
    worktree: undefined,
    ...wanted,
    parentSessionID: context.sessionID,
    parentMessageID: context.messageID,
    parentAgent: context.agent,
    directory: context.directory,
    permit: (agent) => requirePermission(deps, context, agent, wanted.description),
    signal: context.abort,
  };
  const launch = deps.engine.launch(request);
  const launched = await untilAborted(context.abort, launch);
  if (launched) return launched;
  // An aborted launch undoes itself, unless it had just succeeded: then its task is cancelled here.
  launch.then((late) => late.ok && deps.engine.cancelSilently(late.value.task.sessionID)).catch(() => undefined);
  return undefined;
};
