import { type SpecificationName, TASKS, WITH_LIMITS, WITH_NOTICES } from "./specifications.ts";

/** What the product does otherwise than specifications say, or how it reads words that can be read in two ways. */
export interface Deviation {
  title: string;
  /** Each has every one of the requirements. */
  specifications: readonly SpecificationName[];
  requirements: readonly string[];
  /** What it does, and why. `ADR-012` becomes a link to the decision. */
  text: string;
}

const API = ["asyncagents-task"] as const;
const ELISHA = ["elisha-task-domain"] as const;
const SUBTASKS = ["subagents-and-subtasks"] as const;

/** In the order in which the page shows them. */
export const DEVIATIONS: readonly Deviation[] = [
  {
    title: "Five statuses, and more detail",
    specifications: TASKS,
    requirements: ["Background Task Creation", "Task Status Management"],
    text: "`status` has the five values and no other. What a task goes through meanwhile is shown beside it: one that waits for a slot, for its provider, for the user or for tasks of its own is `running` or `resumed` (ADR-113).",
  },
  {
    title: "Cancelled means stopped",
    specifications: TASKS,
    requirements: ["Task Status Management"],
    text: "A task becomes `cancelled` when OpenCode confirms that its session is at rest, not when that is asked for: an abort can arrive before the prompt that it is to stop (ADR-006).",
  },
  {
    title: "A read waits when it is asked to",
    specifications: TASKS,
    requirements: ["Task Result Retrieval", "Task Conversation Resumption"],
    text: "“Non-blocking … only” and “calls … with task_id and block=true … waits” contradict each other. `_output` does not wait by default. With `block: true` it waits for at most `timeout`, and no longer than the caller's turn.",
  },
  {
    title: "Tasks live in the store",
    specifications: TASKS,
    requirements: ["Task Result Retrieval"],
    text: "“In memory until explicitly cleared … or until the parent session ends”: tasks stay in one SQLite file, as they are to survive restarts, too. A session has ended when it is deleted, not when it is idle or out of view, and a single “not found” is no deletion (ADR-028). The options `retention.days` and `retention.count` remove ended tasks earlier; they are not set by default.",
  },
  {
    title: "History is read from the store",
    specifications: API,
    requirements: ["Task History Persistence"],
    text: "“Loaded from disk into memory”: earlier tasks are available at once, but are read from the file when they are asked for, so that a start takes as long with a million tasks as with ten thousand (ADR-061).",
  },
  {
    title: "Idle is a hint",
    specifications: TASKS,
    requirements: ["Event-Based Completion Detection"],
    text: "“Immediately marks … as completed”: at once, but not before the run is known to be answered, since a session is idle after an error or an abort, too (ADR-023). A task that launched tasks ends after them (ADR-004).",
  },
  {
    title: "Each result is delivered once",
    specifications: TASKS,
    requirements: ["Event-Based Completion Detection", "Task Conversation Resumption"],
    text: "“Sends notification … with full result”: no notice follows where a tool that waited has returned the result (ADR-012, ADR-013). A notice carries whole results as long as together they take no more than half of what is free in the window of the model that reads them, since OpenCode sums a conversation up that does not fit (ADR-307); then each is cut, and `_output` has the rest. The option `notice.maxResultChars` cuts them earlier. One that OpenCode rejects three times is given up, and a toast says so (ADR-020).",
  },
  {
    title: "When a resume is refused",
    specifications: TASKS,
    requirements: ["Task Conversation Resumption"],
    text: "A completed task is not resumed before the notice of its last run is delivered, so that it owes one at a time (ADR-002), nor while its changes are applied (ADR-250).",
  },
  {
    title: "What makes a batch",
    specifications: TASKS,
    requirements: ["Batch Task Management"],
    text: "“The same logical operation” is one turn of the agent, in however many steps, or a `batch_id` that it gives (ADR-147).",
  },
  {
    title: "Older batches in a list",
    specifications: TASKS,
    requirements: ["Task List Resume Indicator", "Task List Parent Session Filtering"],
    text: "OpenCode cuts an answer over 50 kB or 2,000 lines, at any place. Of a list that would be longer, older batches in which nothing runs are shown by their headings, without ids, and `_output` with the `batch_id` lists their tasks (ADR-203). The option `list.maxTasks` does that earlier.",
  },
  {
    title: "A fork, and a conversation as text",
    specifications: TASKS,
    requirements: ["Background Task Creation", "Fork Context Inheritance"],
    text: "A fork inherits the messages themselves, which are shortened in place (ADR-038). Where OpenCode does not fork the conversation, the child gets it as text. The labels `User:` and `Agent:` and the lines `[Tool: …]` are those of a conversation that is written out, here and by `full_session`.",
  },
  {
    title: "The limits of a fork",
    specifications: WITH_LIMITS,
    requirements: ["Fork Context Inheritance"],
    text: "Both limits are options with the specified values as defaults. Tokens are estimated, since each model counts them in its own way. A compaction's summary stays whatever its age: without it, OpenCode would send everything before it again (ADR-038).",
  },
  {
    title: "The preamble is a user message",
    specifications: TASKS,
    requirements: ["Fork Preamble Injection"],
    text: "“A system message via `session.prompt` with `noReply: true`”: that call stores messages of the user, so the preamble is a synthetic part of one. It is sent until it is stored (ADR-043).",
  },
  {
    title: "One message for several runs",
    specifications: WITH_NOTICES,
    requirements: ["Silent System Hints in Notifications"],
    text: "Runs that end together share a message, with a visible part for each and one hidden part for all (ADR-126). After the specified lines, the visible part has the beginning of the result or the error.",
  },
  {
    title: "Which cancellations are announced",
    specifications: WITH_NOTICES,
    requirements: ["Silent System Hints in Notifications"],
    text: "No notice tells of a task that was cleared, that ended together with the task that launched it, or whose end a tool has returned already (ADR-017). A parent that was stopped is not woken for the subtask that was cancelled with it (ADR-022).",
  },
  {
    title: "What a notice counts",
    specifications: WITH_NOTICES,
    requirements: ["Silent System Hints in Notifications", "Conditional Hidden Hint Content"],
    text: "The specification has no format for a resume that is cancelled: its notice is that of a cancelled task, with the agent's name in place of `Resume #`. `Task Progress` counts the batch, and the hidden hint all tasks of the session; where they differ, the notice says so (ADR-019). Both count at the moment when the notice is composed (ADR-018).",
  },
  {
    title: "When the server starts, and on what",
    specifications: API,
    requirements: ["HTTP Status API Server"],
    text: "“On plugin init”: a second after it, since OpenCode's own start would wait for it (ADR-138). Where a prompt comes within that second, two seconds after the prompt, or with the first tool call if that comes sooner: the first model request would come 50 ms later on Node, and 110 on Bun (measured, ADR-307). “Using `Bun.serve()`”: in Bun; where plugins run on Node, its server has the same handler.",
  },
  {
    title: "One server for a process, one file for all",
    specifications: API,
    requirements: ["HTTP Status API Server", "Port Discovery"],
    text: "All directories of a process share its server (ADR-068). Of several processes the first writes `server.json`; when it ends, the oldest that lives takes the file over, and the last one deletes it (ADR-069). The file also has the `token` that changes need.",
  },
  {
    title: "Loopback is no wall",
    specifications: API,
    requirements: ["HTTP Status API Server", "CORS Support"],
    text: "“Safe because the server binds to localhost only”: any web page in the user's browser reaches it there, and so does every user of the machine. The headers are sent as specified with what is served. Requests with a foreign `Host` or `Origin`, or from another site, are refused without them, so that no page can read that there is a server (ADR-075, ADR-076), and so are reads by another user without the token (ADR-074). Changes always need it.",
  },
  {
    title: "Long texts where tasks are many",
    specifications: API,
    requirements: ["Task List API", "Task Groups API", "Server-Sent Events Stream"],
    text: "In lists and groups, texts above 2,000 characters and lists above 100 entries are cut, and `cut` names the fields; in events only those of tasks that go beyond a million characters in a snapshot, or in what is sent at once. 21 results of 5 MB, sent whole to ten readers, made the process grow by 1.8 GB on Node and 9 GB on Bun (ADR-077). `GET /v1/tasks/:id` has everything.",
  },
  {
    title: "What a stream of events leaves out, and what it adds",
    specifications: API,
    requirements: ["Server-Sent Events Stream"],
    text: "A snapshot has all live tasks and the 200 that ended last; its statistics count all. With 10,000 ended tasks it would have 48 MB, and take 1.2 to 2.9 s in which OpenCode does nothing else (measured, 50 to 100 ms with 200). `GET /v1/tasks` has the others. Changes within 15 ms are one event, with the newest state. A reader that does not keep up is disconnected, and begins with a fresh snapshot (ADR-072). `task.removed` says that a task was cleared, without which a reader would keep it (ADR-079).",
  },
  {
    title: "The rest of a long result",
    specifications: ELISHA,
    requirements: ["Task Tool Parameters", "Return JSON Strings from Tools"],
    text: "OpenCode cuts a tool's output at 50 kB, and JSON that is cut is none. So the result is cut before, and `elisha_task_output` takes an `offset` to read on (ADR-097). `elisha_task` also takes a `schema` that the result must fit (ADR-249).",
  },
  {
    title: "Three codes for every error",
    specifications: ELISHA,
    requirements: ["TaskResult Type"],
    text: "A reader of three codes must not meet a fourth: whatever is neither an unknown agent nor a timeout is `SESSION_ERROR`, wrong arguments and refusals too (ADR-092).",
  },
  {
    title: "One call that is not answered in JSON",
    specifications: ELISHA,
    requirements: ["Return JSON Strings from Tools"],
    text: "A call that waits throws when the plugin is disposed of: an answer would count as having delivered the result (ADR-093).",
  },
  {
    title: "What the exports resolve to",
    specifications: ELISHA,
    requirements: ["setupTaskTools", "Task Utilities"],
    text: "All that the specification exports is imported from `opencode-taskchart/elisha`, where it names two files. It does not say what its functions do with a task that has no result, has failed or does not exist: a task is complete once it has ended, however; where there is no text or no task, they reject. A tool is made when OpenCode reads it (ADR-306).",
  },
  {
    title: "The reminder is a stored message",
    specifications: ELISHA,
    requirements: ["setupTaskHooks", "Mark Synthetic Messages"],
    text: "A hook of OpenCode returns no message. So the reminder is stored in the conversation as a synthetic part that starts no turn, and the model that writes the summary is given the same. It names the active tasks, and says how many have ended; the option `reminder.ended` names those, too (ADR-307). It also follows a blocking call that was cut off, and then names ended tasks as well (ADR-037).",
  },
  {
    title: "Agents that have a tool",
    specifications: SUBTASKS,
    requirements: ["Tool Name"],
    text: "Tools exist for the agents that may work for others: not for primary, hidden or disabled ones. Characters that a tool's name cannot have are replaced, and a mark of the whole name keeps such names distinct (ADR-095).",
  },
  {
    title: "Kinds of references and priorities",
    specifications: SUBTASKS,
    requirements: ["Tool Parameters"],
    text: "The plan does not say what `artifactRefs` and `priority` are. References are lines of text, or flat objects of such lines; a priority is a whole number or a word, and the higher gets a slot sooner (ADR-099).",
  },
  {
    title: "What a subtask returns",
    specifications: SUBTASKS,
    requirements: ["Tool Result", "Application changes"],
    text: "An agent of OpenCode answers and says nothing else, so `summary` is the first paragraph of its answer. A launch that is refused, and a plugin that is disposed of meanwhile, are errors of the tool (ADR-094). `read_subtask` reads the rest of an answer that was cut (ADR-097).",
  },
  {
    title: "A child that asks is running",
    specifications: SUBTASKS,
    requirements: ["Sequence (Child Enters UIP / awaiting_user)", "UIP Semantics (Critical Requirement)"],
    text: "`awaiting_user` is no status: the task is `running`, and its `attention` says what is asked (ADR-031). `UserInteractionRequested` and `UserInteractionResponded` are events of the stream `GET /v1/events`; in the task's journal they are `REQUEST_ASKED` and `REQUEST_ANSWERED`. The plan does not say what is in them.",
  },
  {
    title: "Where a child is answered",
    specifications: SUBTASKS,
    requirements: ["Practical UI Requirement"],
    text: "For `coauthor interact respond` there are OpenCode itself, the panel, the board, the status API and `opencode-taskchart answer`.",
  },
  {
    title: "One poll for all tasks",
    specifications: SUBTASKS,
    requirements: ["Waiting Strategy (Avoid Heavy Polling)"],
    text: "Where events are missed, not each child's stream is polled: every five seconds one call asks OpenCode which sessions are busy (ADR-024).",
  },
  {
    title: "A parent that is stopped",
    specifications: SUBTASKS,
    requirements: ["Concurrency, Pause, and Cancel (Known Conflicts)"],
    text: 'The tool does not check the parent\'s state now and then: OpenCode gives it a signal that aborts with the turn, as the plan itself would have it. The child is then cancelled, or goes on with `subtasks.onParentCancel: "detach"` (ADR-022). OpenCode has no pause.',
  },
];
