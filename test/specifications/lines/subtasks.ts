import { type Entry, lines, type Planted, planted, seenBy, type Unplanted, unplanted } from "./entry.ts";

/* What subagents-and-subtasks says: one tool for each agent, which waits for its subtask. */

const TOOLSET = "src/tools/subtasks/subtasks-toolset.ts";
const RESULT = "src/tools/subtasks/subtasks-toolset.ts";
const VIEW = "src/machines/task/view.ts";
const SETUP = "src/machines/task/setup.ts";
const WAIT = "src/services/engine/operations/wait.ts";
const LAUNCH = "src/services/engine/launch/start-task.ts";
const EFFECTS = "src/services/engine/effects/task-effects.ts";

const of = (requirement: string, texts: Record<string, Planted | Unplanted | readonly Planted[]>) =>
  lines(["subagents-and-subtasks"], requirement, undefined, texts);

const NORMAL = "Sequence (Normal Completion)";
const ASKED = "Sequence (Child Enters UIP / awaiting_user)";
const UIP = "UIP Semantics (Critical Requirement)";
const WAITING = "Waiting Strategy (Avoid Heavy Polling)";
const CANCEL = "Concurrency, Pause, and Cancel (Known Conflicts)";

const ENDS = "the child works, ends, and the call answers with the outcome; no notice follows";
const THROUGH = "the child asks, is answered, goes on and ends; only then does the call answer";
const INTERACTIONS = "src/services/http/events/user-interactions.ts";
const IN_STREAM =
  "the stream has UserInteractionRequested when a child asks, and UserInteractionResponded when it is answered";
const OF_CHILD = "what a child asks belongs to the child's task";
const STORED = "parentTaskId is stored on the child, and outlives a restart";
const AUTHOR = "the author is the calling agent, or the user where no agent calls";
const OUTPUTS = "summary and failureReason are stored when the task ends";
const SUCCESS = "Success: taskId, agentId, summary and finalAssistantMessage";
const ERROR = "Error: taskId, agentId and failureReason";
const CANCELLED = "Cancel: taskId, agentId and failureReason, when somebody cancels the subtask";
const ABORTED = "the parent's abort answers Cancel within 100 ms, and cancels the child and its descendants";

const noParent = planted(LAUNCH, "...(parentTask ? { parentTaskId: parentTask.sessionID } : {}),", "");
const userAsAuthor = planted(LAUNCH, "author: parentAgent || USER,", "author: USER,");
const noSummary = planted(VIEW, "summary: result === undefined ? undefined : summaryOf(result),", "");
const noReason = planted(VIEW, "      failureReason: error?.message,\n", "");

const AWAIT =
  "const outcome = await engine.wait({ taskIds: [taskId], sessionID, callID, signal: abort, timeoutMs: undefined });";
const notAwaited = planted(TOOLSET, AWAIT, 'const outcome = "ended" as Awaited<ReturnType<typeof engine.wait>>;');
/** The call answers after a minute, though the child has not ended. */
const awaitedBriefly = planted(
  TOOLSET,
  AWAIT,
  `${AWAIT.replace("timeoutMs: undefined", "timeoutMs: 60_000")} if (outcome === "timedOut") return subtaskOutput(task.description, abortedResult(name, "AwaitingUser", taskId));`,
);
const endNotSeen = planted(
  WAIT,
  "const unsubscribe = runtime.subscribe((task: Task) => check(task.sessionID));",
  "const unsubscribe = () => undefined;",
);
const notAsked = planted(VIEW, "attention: attentionOf(context),", "");
const unanswered = planted(SETUP, "context.userRequests.filter(({ id }) => id !== event.id),", "context.userRequests,");

const PROMPT = "const sent = await host.prompt(schema ? withSchema(prompt, schema) : prompt);";
const RESULT_OF = "const ended = { taskId: task.sessionID, agentId: task.agent, subTaskStatus: STATUS[task.status] };";

const OF_COAUTHOR = unplanted("it says how Coauthor was, and what follows from that is a line of its own.");
const OF_OPENCODE = unplanted("it is done by OpenCode, which calls tools and keeps what they return.");
const WITH_PLUGIN = unplanted(
  "the engine is started with the plugin, whose tools do not exist without it: no tool starts it.",
);
const IN_OPENCODE = unplanted(
  "it is shown in the real OpenCode, by test/e2e/toolsets.test.ts, which runs what was built: nothing is planted there.",
);

export const ofSubtasks: readonly Entry[] = [
  ...of("Primary Invariants", {
    "Task ↔ Agent binding is immutable: `TaskCreated.agentId` defines the executor for the entire lifecycle.": planted(
      "src/services/engine/operations/go-on.ts",
      "if (agent !== undefined && agent.toLowerCase() !== task.agent.toLowerCase()) {",
      "if (agent === null) {",
      "a task is bound to one agent for its whole life",
    ),
    "Every Task has exactly one `AgentRuntime` when executed.": planted(
      "src/machines/supervisor/machine.ts",
      'LAUNCH: { guard: "notLive", actions: spawnTask },',
      "LAUNCH: { actions: spawnTask },",
      "one live actor per task id, whatever is called twice",
    ),
    "Subtasks are normal Tasks with `parentTaskId` set.": seenBy(
      "a subtask is a task like any other, with its parent task named",
      noParent,
    ),
    "`createSubAgent` is a tool call executed inside the parent task runtime, but it coordinates a separate child runtime.":
      planted(
        SETUP,
        "  return { sessionID, messageID, parts: [{ id: partID, text: prompt }], agent, model: modelOf(context) };",
        "  return { sessionID: context.facts.parentSessionID, messageID, parts: [{ id: partID, text: prompt }], agent, model: modelOf(context) };",
        "the tool call runs in the parent and coordinates a runtime of the child's own",
      ),
  }),
  ...of(NORMAL, {
    "P->>OH: yield tool_call(create_subtask_<agent>)": OF_OPENCODE,
    "OH->>T: execute tool (blocks)": seenBy(ENDS, notAwaited),
    "T->>ES: append TaskCreated(child, parentTaskId)": seenBy(`Domain changes › ${STORED}`, noParent),
    "ES-->>RM: events$(TaskCreated)": planted(
      "src/machines/supervisor/machine.ts",
      'LAUNCH: { guard: "notLive", actions: spawnTask },',
      "",
      ENDS,
    ),
    "RM->>C: create runtime + execute()": planted(
      EFFECTS,
      PROMPT,
      "const sent = { ok: true, value: undefined } as Awaited<ReturnType<Host['prompt']>>;",
      ENDS,
    ),
    "C->>ES: append TaskStarted/...": planted(
      "src/services/runtime/runtime.ts",
      "store.commit({ records, journal, prompts, launches: launchJournals })",
      'store.commit({ records, journal: journal.filter(({ event }) => event.type !== "PROMPT_ACCEPTED"), prompts })',
      "Primary Invariants › one live actor per task id, whatever is called twice",
    ),
    "C->>ES: append TaskCompleted|TaskFailed|TaskCanceled": planted(
      "src/machines/task/machine.ts",
      '{ guard: "isCompleted", target: "completed" }',
      '{ guard: "isCompleted", target: "error" }',
      ENDS,
    ),
    "ES-->>T: terminal event observed": seenBy(ENDS, endNotSeen),
    "T-->>OH: return ToolResult(JSON)": planted(
      RESULT,
      "output: JSON.stringify(SubtaskResult.parse(",
      "output: String(SubtaskResult.parse(",
      ENDS,
    ),
    "OH->>P: persist tool-result into parent conversation": OF_OPENCODE,
    "P->>P: next LLM iteration uses tool result": OF_OPENCODE,
  }),
  ...of(ASKED, {
    "Child runtime emits `UserInteractionRequested` and pauses (its task status becomes `awaiting_user`).": [
      seenBy(`${UIP} › ${OF_CHILD}`, notAsked),
      planted(INTERACTIONS, 'sseFrame("UserInteractionRequested",', 'sseFrame("task.asked",', IN_STREAM),
    ],
    "`createSubAgent` does not return. It keeps waiting for a child terminal event.": seenBy(THROUGH, awaitedBriefly),
    "The user responds to the child UIP via TUI (or a separate CLI process). `RuntimeManager` routes `UserInteractionResponded` to the child runtime and it resumes.":
      [
        seenBy(`${UIP} › ${OF_CHILD}`, unanswered),
        planted(INTERACTIONS, 'sseFrame("UserInteractionResponded",', 'sseFrame("task.answered",', IN_STREAM),
      ],
    "Once the child reaches `done/failed/canceled`, `createSubAgent` unblocks and returns.": seenBy(
      THROUGH,
      endNotSeen,
    ),
  }),
  ...of(UIP, {
    "UIP is always scoped to the task that requested it.": [
      planted(
        INTERACTIONS,
        "if (!other || isBelow(task, other.task)) found",
        "if (!other || isBelow(other.task, task)) found",
        "of a grandchild's request, both events name the grandchild alone, though those above it wait, too",
      ),
      planted(
        "src/machines/supervisor/machine.ts",
        "const forTask = hasId(context.tasks, sessionID) && toTaskEvent(event.event, event.at);",
        'for (const id of context.tasks) if (event.event.type === "asked" && id !== sessionID) tell(enqueue, id, toTaskEvent(event.event, event.at) as never); const forTask = hasId(context.tasks, sessionID) && toTaskEvent(event.event, event.at);',
        OF_CHILD,
      ),
    ],
    "Child UIP events are written to the child task stream.": planted(
      "src/services/runtime/runtime.ts",
      "store.commit({ records, journal, prompts, launches: launchJournals })",
      'store.commit({ records, journal: journal.filter(({ event }) => event.type !== "REQUEST_ASKED"), prompts })',
      OF_CHILD,
    ),
    "`createSubAgent` blocks through `awaiting_user`; it never returns an intermediate “AwaitingUser” result.": seenBy(
      "the call blocks through awaitingUser, and never answers with it",
      awaitedBriefly,
    ),
  }),
  ...of("Practical UI Requirement", {
    "Because the parent tool call is blocked, the user must have a way to answer child UIP while the parent is waiting.":
      IN_OPENCODE,
    "TUI mode satisfies this because it continuously refreshes tasks and shows pending interactions for any task in `awaiting_user`.":
      IN_OPENCODE,
    "In CLI one-shot execution, the user must respond from a separate process/terminal (e.g. `coauthor interact respond <childTaskId> ...`) while the original process remains running and waiting.":
      IN_OPENCODE,
  }),
  ...of("Tool Name", {
    "`create_subtask_<agentId>` (one per agent; stable naming).": [
      planted(
        "src/tools/subtasks/subagents.ts",
        'export const PREFIX = "create_subtask_";',
        'export const PREFIX = "subtask_";',
        "create_subtask_<agentId>, one for each subagent",
      ),
      planted(
        TOOLSET,
        "const tools = subagents.map((subagent) =>",
        "const tools = subagents.slice(0, 1).map((subagent) =>",
        "create_subtask_<agentId>, one for each subagent",
      ),
    ],
  }),
  ...of("Tool Parameters", {
    "`title` (required)": planted(
      TOOLSET,
      "const prompt = intent ?? title;",
      'const prompt = intent ?? "";',
      "title is required, and is the prompt where there is no intent",
    ),
    "`intent` (optional) initial prompt for the child task": planted(
      TOOLSET,
      "const prompt = intent ?? title;",
      "const prompt = title;",
      "intent is the child's prompt",
    ),
    "`artifactRefs` (optional)": planted(
      TOOLSET,
      "return lines.length === 0 ? prompt :",
      "return lines.length >= 0 ? prompt :",
      "artifactRefs are passed on as text",
    ),
    "`priority` (optional)": planted(
      TOOLSET,
      "{ description: title, prompt, agent: name, priority }",
      "{ description: title, prompt, agent: name }",
      "priority is stored and shown",
    ),
  }),
  ...of("Tool Result", {
    "The tool returns only when the child is terminal.": seenBy(`${ASKED} › ${THROUGH}`, awaitedBriefly),
    "`taskId`": planted(RESULT, RESULT_OF, RESULT_OF.replace("taskId: task.sessionID, ", ""), SUCCESS),
    "`agentId`": planted(RESULT, RESULT_OF, RESULT_OF.replace("agentId: task.agent", "agentId: task.author"), SUCCESS),
    "`subTaskStatus`: `Success` | `Error` | `Cancel`": [
      planted(RESULT, 'completed: "Success", error: "Error",', 'completed: "Error", error: "Error",', SUCCESS),
      planted(RESULT, 'completed: "Success", error: "Error",', 'completed: "Success", error: "Cancel",', ERROR),
      planted(RESULT, 'cancelled: "Cancel" } as const', 'cancelled: "Error" } as const', CANCELLED),
    ],
    "`summary` (optional)": planted(
      RESULT,
      "summary: truncateField(task.summary), ",
      "summary: truncateField(task.result), ",
      SUCCESS,
    ),
    "`failureReason` (optional)": [
      planted(RESULT, "failureReason: truncateField(task.failureReason),", "", ERROR),
      planted(
        RESULT,
        "truncateField(task.failureReason ?? CANCELLED_BY_OTHERS)",
        "truncateField(task.failureReason)",
        CANCELLED,
      ),
    ],
    "`finalAssistantMessage` (optional)": [
      planted(RESULT, "finalAssistantMessage: task.result }", "finalAssistantMessage: task.summary }", SUCCESS),
      planted(
        RESULT,
        "...(lastMessage === undefined ? {} : { finalAssistantMessage: lastMessage }),",
        "",
        "Error: finalAssistantMessage is what the child said before it failed",
      ),
    ],
  }),
  ...of(WAITING, {
    "Blocking must be implemented without repeatedly rebuilding full projections.": planted(
      "src/services/engine/recovery/housekeeping.ts",
      "const IDLE_POLL_INTERVAL_MS = 5_000;",
      "const IDLE_POLL_INTERVAL_MS = 500;",
      "the end is learned from events: nothing is asked of the host while the child works",
    ),
    "Subscribe to `EventStore.events$` inside the tool (ephemeral subscription).": seenBy(
      "the end is learned from events: nothing is asked of the host while the child works",
      endNotSeen,
    ),
    "Resolve the wait promise on `TaskCompleted`/`TaskFailed`/`TaskCanceled` events for the child task.": [
      planted(
        WAIT,
        "return record === undefined || hasEnded(record.task);",
        'return record === undefined || (hasEnded(record.task) && record.task.status !== "completed");',
        `Tool Result › ${SUCCESS}`,
      ),
      planted(
        WAIT,
        "return record === undefined || hasEnded(record.task);",
        'return record === undefined || (hasEnded(record.task) && record.task.status !== "error");',
        `Tool Result › ${ERROR}`,
      ),
      planted(
        WAIT,
        "return record === undefined || hasEnded(record.task);",
        'return record === undefined || (hasEnded(record.task) && record.task.status !== "cancelled");',
        `Tool Result › ${CANCELLED}`,
      ),
    ],
    "If `events$` subscription is not accessible in the tool (missing injection), poll `EventStore.readStream(childTaskId)` from last seen `seq`.":
      planted(
        "src/services/engine/recovery/housekeeping.ts",
        "work: pollIdleSessions,",
        "work: () => undefined,",
        "an end of which no event tells is found all the same",
      ),
  }),
  ...of("Runtime Manager Requirement (Resuming Child on UIP)", {
    "For `createSubAgent` to block through UIP and still make progress, the process must be running a `RuntimeManager` subscription so that `UserInteractionResponded` events are routed to the correct child runtime.":
      planted(
        "src/services/engine/reactions.ts",
        'if (runtime.concerns(event)) runtime.dispatch({ type: "HOST", at, event });',
        "",
        "a tool call is enough: no event has come and no timer has fired before it",
      ),
    "The `create_subtask_<agent>` tool must ensure `RuntimeManager.start()` has been called in-process.": WITH_PLUGIN,
    "If `RuntimeManager.isRunning` is already true (TUI), do nothing.": WITH_PLUGIN,
    "If false (CLI/manual execution), start it before creating the child task.": WITH_PLUGIN,
  }),
  ...of("Domain changes", {
    "Add `parentTaskId?: string` to `TaskCreatedPayloadSchema` in `src/domain/events.ts`.": seenBy(STORED, noParent),
  }),
  ...of("Application changes", {
    "Extend `CreateTaskOptions` in `src/application/taskService.ts` to include `parentTaskId?: string` and `authorActorId?: string` override.":
      seenBy(AUTHOR, userAsAuthor),
    "On `TaskCreated`, set `parentTaskId`.": seenBy(`Domain changes › ${STORED}`, noParent),
    "If `parentTaskId` is present and parent exists, append to `childTaskIds` idempotently.": planted(
      "src/services/engine/operations/read-task.ts",
      "parentTaskId === taskId ? sessionID : []",
      "parentTaskId === taskId ? [sessionID, sessionID] : []",
      "childTaskIds has each child once, whatever happens to it how often",
    ),
    "On `TaskCompleted`, store `summary`.": seenBy(OUTPUTS, noSummary),
    "On `TaskFailed`, store `failureReason`.": seenBy(OUTPUTS, noReason),
  }),
  ...of(CANCEL, {
    "`AgentRuntime.onCancel()` and `onPause()` only take effect between agent yields, not while a tool call is blocked.":
      OF_COAUTHOR,
    "`createSubAgent` waiting loop must periodically check parent task state via `TaskService.getTask(parentTaskId)` or `EventStore.readStream(parentTaskId)`.":
      planted(WAIT, 'signal.addEventListener("abort", abort);', "", ABORTED),
    "Optionally cancel the child task (policy decision), and": [
      planted(TOOLSET, 'if (onParentCancel === "cancel") engine.cancelSilently(taskId);', "", ABORTED),
      planted(
        TOOLSET,
        'if (onParentCancel === "cancel") engine.cancelSilently(taskId);',
        "engine.cancelSilently(taskId);",
        "with onParentCancel: detach the child goes on, and its end is delivered by a notice",
      ),
    ],
    "Abort waiting and return `Cancel` (or throw a tool error; prefer returning `Cancel` to keep results structured).":
      planted(RESULT, '  subTaskStatus: "Cancel",\n', '  subTaskStatus: "Error",\n', ABORTED),
    "Add `AbortSignal` (or equivalent) to `ToolContext` and have `OutputHandler` abort the signal when `TaskCanceled/TaskPaused` is observed, so long-running tools can stop immediately.":
      planted(TOOLSET, AWAIT, AWAIT.replace("signal: abort", "signal: new AbortController().signal"), ABORTED),
  }),
  ...of("Conflicts With Current Codebase and Resolutions", {
    "`TaskCreated` lacks `parentTaskId`.": OF_COAUTHOR,
    "Fix by extending `TaskCreatedPayloadSchema` and updating all creation call sites/tests.": seenBy(
      `Domain changes › ${STORED}`,
      noParent,
    ),
    "`TaskService` attributes events to a fixed `currentActorId`.": OF_COAUTHOR,
    "Fix by allowing per-call author override so agent-created subtasks are attributed to the calling agent.": seenBy(
      `Application changes › ${AUTHOR}`,
      userAsAuthor,
    ),
    "`TaskView` does not record terminal outputs.": OF_COAUTHOR,
    "Fix by adding `summary` and `failureReason` fields to projection.": [
      seenBy(`Application changes › ${OUTPUTS}`, noSummary),
      seenBy(`Application changes › ${OUTPUTS}`, noReason),
    ],
    "`createSubAgent` must block across `awaiting_user`.": seenBy(`${ASKED} › ${THROUGH}`, awaitedBriefly),
    "Requires `RuntimeManager` running in-process to route `UserInteractionResponded` to the child runtime.": seenBy(
      `${UIP} › ${OF_CHILD}`,
      unanswered,
    ),
    "Fix by starting `RuntimeManager` in the tool if needed.": WITH_PLUGIN,
    "Potential double execution.": OF_COAUTHOR,
    "Do not call `runtimeManager.executeTask(childTaskId)` when `RuntimeManager.isRunning` is true; rely on the event subscription.":
      planted(
        EFFECTS,
        PROMPT,
        `await host.prompt(prompt); ${PROMPT}`,
        "no double execution: one prompt, one answer, whatever is called twice",
      ),
  }),
];
