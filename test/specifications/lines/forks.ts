import { TASKS, WITH_LIMITS } from "../../../scripts/requirements/specifications.ts";
import { type Entry, lines, planted, seenBy } from "./entry.ts";

/* What the specifications say of forks: what a child inherits of its parent's conversation, and what it is told of that. */

const SESSION = "src/services/engine/launch/create-session.ts";
const PLAN = "src/services/engine/launch/fork-plan.ts";
const TRANSCRIPT = "src/services/text/transcript.ts";
const TOOLS = "src/tools/tasks/tasks-toolset.ts";

/** The child begins with an empty session. */
export const noFork = planted(
  SESSION,
  "? host.fork(parentSessionID, parentMessageID)",
  "? host.createSession(sessionFor(call, pending, worktree))",
);

/** It inherits tool results of any length. */
export const longResults = planted(
  SESSION,
  "await changeAll(plan.cuts, (cut) => host.rewritePart(id, cut.messageID, cut.part));",
  "",
);

/** It inherits conversations of any length. */
export const longConversations = planted(
  SESSION,
  "await changeAll(plan.drops, (dropped) => host.deleteMessage(id, dropped));",
  "",
);

export const unmarkedFork = planted("src/services/engine/launch/start-task.ts", "isForked: fork,", "isForked: false,");

const noPreamble = planted(
  "src/machines/launch/preparing.ts",
  'COPY_CUT: { target: "informing" },',
  'COPY_CUT: { target: "#starting" },',
);

/** A launch that waits for the end of its task, in place of returning at once. */
export const waitsForEnd = planted(
  TOOLS,
  "const { task, forkRefusal, notOffered } = orThrow(launched);",
  "const { task, forkRefusal, notOffered } = orThrow(launched); await deps.engine.wait({ taskIds: [task.sessionID], sessionID: context.sessionID, callID: undefined, signal: context.abort, timeoutMs: undefined });",
);

export const noReason = planted(
  TOOLS,
  "fork and resume are mutually exclusive: a resumed task continues its own conversation. Give only one of them.",
  "Give only one of them.",
);

export const unmarked = planted(
  "src/tools/tasks/format.ts",
  "isForked ? own`(forked)` : undefined",
  "isForked && resumeCount > 0 ? own`(forked)` : undefined",
);

const inheritance: Entry[] = [
  ...lines(TASKS, "Fork Context Inheritance", undefined, {
    "The system SHALL support forking parent agent context to child background tasks via an optional `fork` parameter, enabling context-aware delegation without losing conversation history.":
      [
        planted(
          "src/machines/launch/machine.ts",
          'source: isFork ? "copy" : "empty",',
          'source: "empty",',
          "Launch forked background task",
        ),
        planted(
          TOOLS,
          'fork: tool.schema.boolean().optional().describe("Let the agent see this conversation"),',
          'fork: tool.schema.boolean().describe("Let the agent see this conversation"),',
          "Background Task Creation › Launch background task",
        ),
      ],
  }),
  ...lines(TASKS, "Fork Context Inheritance", "Launch forked background task", {
    "system calls OpenCode's session.fork API to create new session with inherited history": noFork,
    "system processes forked context (truncates tool results, enforces token limit)": [longResults, longConversations],
    "system injects preamble informing child about potential truncation": noPreamble,
    "task is created with `isForked: true` flag": unmarkedFork,
    "system returns task ID immediately (non-blocking)": [
      waitsForEnd,
      planted(
        TOOLS,
        "output: own`Task ${nameOf(task.sessionID)} is running in the background",
        "output: own`The task is running in the background",
      ),
    ],
  }),
  ...lines(WITH_LIMITS, "Fork Context Inheritance", "Fork with context truncation", {
    "system truncates those results while preserving tool call structure (name, args, id)": [
      planted("src/options.ts", ".min(100)\n        .default(1_500)", ".min(100)\n        .default(1_600)"),
      planted(
        "src/services/host/opencode-messages.ts",
        'if (state.status === "completed") return { ...part, state: { ...state, output: text } };',
        'if (state.status === "completed") return { ...part, tool: "", state: { ...state, output: text } };',
      ),
      planted(
        "src/services/host/opencode-messages.ts",
        'if (state.status === "completed") return { ...part, state: { ...state, output: text } };',
        'if (state.status === "completed") return { ...part, state: { ...state, input: {}, output: text } };',
      ),
      planted(
        "src/services/host/opencode-messages.ts",
        'if (state.status === "completed") return { ...part, state: { ...state, output: text } };',
        'if (state.status === "completed") return { ...part, callID: part.id, state: { ...state, output: text } };',
      ),
    ],
    "truncated results include original length indicator": planted(
      PLAN,
      "\\n[Truncated: ${text.length} characters originally]",
      "\\n[Truncated]",
    ),
  }),
  ...lines(WITH_LIMITS, "Fork Context Inheritance", "Fork with token limit enforcement", {
    "system removes oldest messages until context is under limit": [
      planted("src/options.ts", ".min(1_000)\n        .default(100_000)", ".min(1_000)\n        .default(130_000)"),
      planted(PLAN, "    remaining -= tokensOf(message);\n", "    remaining -= 3 * tokensOf(message);\n"),
    ],
    "most recent messages are preserved": planted(
      PLAN,
      "drops: spoken.slice(0, first).map(({ id }) => id),",
      "drops: [...spoken.slice(0, first), ...spoken.slice(-1)].map(({ id }) => id),",
    ),
  }),
  ...lines(TASKS, "Fork Context Inheritance", "Reject fork with resume", {
    "system returns error immediately": planted(
      TOOLS,
      "if (resume !== undefined && fork) {",
      'if (resume !== undefined && fork) { await requirePermission(deps, context, "general", "both");',
    ),
    "error message explains fork and resume are mutually exclusive": noReason,
  }),
  ...lines(TASKS, "Fork Context Inheritance", "Fork indicator in task list", {
    "system shows `(forked)` indicator after the task ID": unmarked,
  }),
  ...lines(["superagents-task"], "Fork Context Inheritance", "Fork context role label format", {
    "user messages are labeled with `User:` prefix": planted(TRANSCRIPT, 'user: "User:"', 'user: "Human:"'),
    "assistant messages are labeled with `Agent:` prefix": planted(
      TRANSCRIPT,
      'assistant: "Agent:"',
      'assistant: "Assistant:"',
    ),
  }),
  ...lines(["superagents-task"], "Fork Context Inheritance", "Fork context tool call display", {
    "system displays tool calls with name and parameter preview": [
      planted(
        TRANSCRIPT,
        "endWithJson(own`[Tool: ${nameOf(name)}]`, params,",
        "endWithJson(own`[Tool: ${nameOf(name)}]`, {},",
      ),
      planted(
        TRANSCRIPT,
        "return includeToolResults && part.result !== undefined ? [call, quoteBlock(part.result)] : [call];",
        "return includeToolResults && part.result !== undefined ? [call, quoteBlock(part.result)] : [];",
      ),
    ],
    "parameter preview is truncated to 200 characters with ellipsis if exceeded": [
      planted(TRANSCRIPT, "const PARAMS_CHARS = 200;", "const PARAMS_CHARS = 201;"),
      planted("src/services/text/own-text.ts", '${json.length > most ? "…" : ""}` as OwnLine', "` as OwnLine"),
    ],
    "format is `[Tool: {name}] {params_preview}`": planted(
      TRANSCRIPT,
      "own`[Tool: ${nameOf(name)}]`",
      "own`[${nameOf(name)}]`",
    ),
  }),
];

const preamble: Entry[] = [
  ...lines(TASKS, "Fork Preamble Injection", undefined, {
    "The system SHALL inject a system message into forked sessions to inform the child agent about context limitations.":
      seenBy("Preamble content", planted(SESSION, "({ id, text, synthetic: true })", "({ id, text })")),
  }),
  ...lines(TASKS, "Fork Preamble Injection", "Preamble content", {
    "system injects system message via `session.prompt` with `noReply: true`": [
      planted(SESSION, "await host.storeMessage(call.preambleMessage);", "await host.prompt(call.preambleMessage);"),
    ],
    "preamble explains context may be truncated": planted(
      PLAN,
      '"You are a subagent in a fork of the conversation above. Its context may be truncated."',
      '"You are a subagent in a fork of the conversation above."',
    ),
    "preamble advises re-reading files if complete content is needed": planted(
      PLAN,
      '"Read files again if you need their complete content. Your task follows."',
      '"Your task follows."',
    ),
  }),
];

export const ofForks: readonly Entry[] = [...inheritance, ...preamble];
