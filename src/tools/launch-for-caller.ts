import type { Launched } from "../services/launch/launch.ts";
import type { LaunchRequest } from "../services/launch/launch-plan.ts";
import type { Outcome } from "../services/platform/result.ts";
import { shortDescription } from "../task.ts";
import type { CallContext, ToolDeps } from "./tool-context.ts";

/** What a tool's caller asks to have done; who asks is known. */
type Wanted = Pick<LaunchRequest, "description" | "prompt" | "agent"> &
  Partial<Pick<LaunchRequest, "batchId" | "fork" | "priority">>;

/** What the work comes to; undefined as soon as the signal is aborted, whatever the host is doing about the work. */
const untilAborted = <T>(signal: AbortSignal, work: Promise<T>): Promise<T | undefined> =>
  new Promise((resolve, reject) => {
    const abort = () => resolve(undefined);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });

/**
 * Asks the host whether the calling agent may set that agent to work, as its own task tool does: `plan` may not use
 * `general`, which would write files for it. A person who names an agent in a prompt has allowed it.
 * @throws Error in the host's words when it may not.
 */
export const requirePermission = async (context: CallContext, agent: string, description: string): Promise<void> => {
  if (context.extra?.bypassAgentCheck) return;
  const metadata = { description: shortDescription(description), subagent_type: agent };
  await context.ask({ permission: "task", patterns: [agent], always: ["*"], metadata });
};

/**
 * Launches a task for the caller; undefined when its turn was aborted before that was done: then nothing is left of it.
 * @throws Error when the caller may not use the agent.
 */
export const launchForCaller = async (
  context: CallContext,
  engine: ToolDeps["engine"],
  wanted: Wanted,
): Promise<Outcome<Launched> | undefined> => {
  const request: LaunchRequest = {
    batchId: undefined,
    fork: false,
    priority: 0,
    ...wanted,
    parentSessionID: context.sessionID,
    parentMessageID: context.messageID,
    parentAgent: context.agent,
    directory: context.directory,
    permit: () => requirePermission(context, wanted.agent, wanted.description),
    signal: context.abort,
  };
  const launch = engine.launch(request);
  const launched = await untilAborted(context.abort, launch);
  if (launched) return launched;
  // It is undone by itself, unless the abort came when it was just done.
  launch.then((late) => late.ok && engine.cancelSilently(late.value.task.sessionID)).catch(() => undefined);
  return undefined;
};
