import { type ToolContext, type ToolDefinition, type ToolResult, tool } from "@opencode-ai/plugin";
import type { Engine } from "../services/engine/engine.ts";
import type { Launched, LaunchRequest } from "../services/engine/requests.ts";
import type { Clock } from "../services/platform/clock.ts";
import { truncate, truncateStart } from "../services/platform/plain-text.ts";
import type { Outcome } from "../services/platform/result.ts";
import { shortDescription } from "../task.ts";
import { type Arguments, type ReadingRules, readArguments, type Shape } from "./arguments.ts";

/** What every tool depends on. */
export interface ToolDeps {
  /** Everything but `answer`: no model may answer for the user. */
  engine: Omit<Engine, "answer">;
  clock: Clock;
  /** Prefix of the tool names in the toolset `tasks`. */
  prefix: string;
  /** Tasks that have a line each in a list; undefined: as many as an answer may have. */
  listedTasks?: number | undefined;
  /** The name of the permission that a launch needs. */
  permission: string;
  /** True in `opencode run`, which ends with its agent's first answer. */
  isHeadless: boolean;
}

/** What OpenCode passes to a call of a tool, with two things that its types lack (seen in 1.18.33). */
export interface CallContext
  extends Pick<ToolContext, "sessionID" | "messageID" | "agent" | "directory" | "abort" | "ask"> {
  /** Unique within the session; undefined when OpenCode does not give one. */
  callID?: string;
  /** `bypassAgentCheck`: true if the user named an agent in the prompt. */
  extra?: { bypassAgentCheck?: boolean };
}

/** A tool as OpenCode takes it. OpenCode passes on whatever the model sent: arguments of any shape. */
export interface Tool extends ToolDefinition {
  execute(sent: unknown, context: CallContext): Promise<ToolResult>;
}

/** A tool, before its arguments are checked. */
interface ToolSpec<S extends Shape> extends ReadingRules {
  description: string;
  args: S;
  /** Answers a call with invalid arguments. Default: throws the reason, which the host shows to the agent as an error. */
  refuse?: (reason: string) => ToolResult;
  /** Performs the call, with arguments that match the shape. What it throws becomes the tool's error. */
  execute(args: Arguments<S>, context: CallContext): Promise<ToolResult>;
}

const throwReason = (reason: string): never => {
  throw new Error(reason);
};

/**
 * Creates a tool. Every tool is created by this function, because the host does not check arguments (seen in 1.18.33):
 * they are checked here, before anything else happens. The engine learns when a call returns: a result that it waited for
 * is delivered soon after that, or not at all. It refuses an output whose results another process delivers.
 */
export const defineTool = <S extends Shape>(
  engine: Pick<ToolDeps["engine"], "onCallReturned">,
  { description, args, refuse = throwReason, refusesBlank, ignoresUnknown, execute }: ToolSpec<S>,
): Tool =>
  tool<Shape>({
    description,
    args,
    execute: async (sent, context: CallContext) => {
      const read = readArguments(args, sent, { refusesBlank, ignoresUnknown });
      if (!read.ok) return refuse(read.reason);
      // An error of the call is an output like any other.
      const [output] = await Promise.allSettled([execute(read.value, context)]);
      if (!engine.onCallReturned(context)) throw elsewhereError();
      if (output.status === "rejected") throw output.reason;
      return output.value;
    },
  });

/** Returns the tools with each call made by another function. */
const wrapped = (tools: Record<string, Tool>, wrap: (tool: Tool) => Tool["execute"]): Record<string, Tool> =>
  Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, { ...tool, execute: wrap(tool) }]));

/** Returns the tools with each call waiting for `ready` first. */
export const afterReady = (ready: () => Promise<void>, tools: Record<string, Tool>): Record<string, Tool> =>
  wrapped(tools, ({ execute }) => async (args, context) => {
    await ready();
    return execute(args, context);
  });

/** Returns the tools with each call made for another directory than the session's own. */
export const inDirectory = (directory: string, tools: Record<string, Tool>): Record<string, Tool> =>
  wrapped(
    tools,
    ({ execute }) =>
      (args, context) =>
        execute(args, { ...context, directory }),
  );

/**
 * Returns the value of an outcome.
 * @throws Error with the reason of a failure, which the host shows to the agent as the tool's error.
 */
export const orThrow = <T>(outcome: Outcome<T>): T => {
  if (outcome.ok) return outcome.value;
  throw new Error(outcome.reason);
};

/**
 * Creates the error of a waiting call whose task another process has. It is an error and no output, so that the other process
 * does not take the result for delivered.
 */
export const elsewhereError = (): Error =>
  new Error(
    "Another OpenCode process works on what this call waits for. Nothing is lost, and nothing is to be launched again: each result is delivered to you by a notice. Do not wait for it.",
  );

/** Creates the error of a waiting call that ends because the plugin shuts down. The tasks' results are still to be delivered. */
export const shutdownError = (taskIds: string[]): Error =>
  new Error(
    `OpenCode is closing. Nothing is lost: ${taskIds.join(", ")} will continue when OpenCode runs again, and you will get a notice with each result.`,
  );

// A launch asks for the permission that OpenCode's own task tool asks for: docs/decisions/036-the-permission-task.md

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

/**
 * Maximum size of a tool's JSON output in bytes. The host cuts output over 50 kB (50,000 or 51,200 bytes), which would make
 * the JSON invalid; the margin is for what the host adds.
 */
const MAX_BYTES = 49_000;

/** Maximum length of a field other than the result, such as a summary or an error. */
const FIELD_CHARS = 2_000;

/** Cuts a field other than the result to `FIELD_CHARS`, and says so at its end. */
export const truncateField = (text: string | undefined): string | undefined => {
  if (text === undefined || text.length <= FIELD_CHARS) return text;
  const start = truncate(text, FIELD_CHARS);
  return `${start}… [The first ${start.length} of ${text.length} characters.]`;
};

const bytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** Which piece of a long text is wanted, and how to read the next one. */
interface Piece {
  /** Characters to skip at the beginning. */
  offset: number;
  /** Names which call reads the piece that starts at `offset`. */
  readOn(offset: number): string;
}

/**
 * Returns the result with as much of the text in `field` as fits into the host's limit, from `piece.offset` on. If that
 * is not all, the text ends with a line that says how to read the rest.
 */
export const truncateToLimit = <Field extends string, Result extends Partial<Record<Field, string | undefined>>>(
  result: Result,
  field: Field,
  { offset, readOn }: Piece,
): Result => {
  const whole: string | undefined = result[field];
  if (whole === undefined) return result;
  const text = truncateStart(whole, offset);
  const rest: Result = {
    ...result,
    [field]: text === "" && whole !== "" ? `[The text has only ${whole.length} characters.]` : text,
  };
  if (bytes(rest) <= MAX_BYTES) return rest;
  const withText = (length: number): Result => {
    const piece = truncate(text, length);
    const end = whole.length - text.length + piece.length;
    const mark = `[Characters ${end - piece.length} to ${end} of ${whole.length}. ${readOn(end)}]`;
    return { ...result, [field]: `${piece}\n${mark}` };
  };
  // Searches for the longest text that fits: a character takes one to six bytes in JSON.
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (bytes(withText(middle)) <= MAX_BYTES) low = middle;
    else high = middle - 1;
  }
  return withText(low);
};
