import { basename } from "node:path";
import type { AssistantMessage, Part, Session, TextPart } from "@opencode-ai/sdk/v2/client";
import { duration } from "../../src/services/text/amounts.ts";
import type { RecordedEvent } from "../../test/e2e/lab/events.ts";
import { isHeadline, noticesOf } from "./notice.ts";

/** A stretch of work in epoch milliseconds; without `to` it still goes on. */
type Span = { id: string; kind: "model" | "tool"; from: number; to: number | undefined };

/** One run of one session on the timeline. Times are epoch milliseconds. */
export type Lane = {
  /** The session's. A task that is resumed has a lane for each run, all with its id. */
  id: string;
  name: string;
  agent: string;
  /** 0 for the first run, n for resume #n. */
  run: number;
  /** Began with a copy of the parent's conversation. */
  isForked: boolean;
  startedAt: number;
  /** What it does now, in a few words. */
  doing: string;
  spans: Span[];
  end?: { outcome: "completed" | "error" | "cancelled"; at: number };
  /** When its parent got a notice with its result: each time, so that a second one would show. */
  delivered: number[];
  /** How long it took, in the words of its notice. */
  took?: string;
};

/** The agent that a person talks to, the runs of the tasks that it launched, and the headlines of a notice that is not complete. */
export type Timeline = { agent: Lane; tasks: Lane[]; headlines: string[] };

/** A timeline on which nothing has happened yet. */
export function begin(id: string, startedAt: number): Timeline {
  const agent = { id, name: "the agent", agent: "build", isForked: false, startedAt, doing: "gets a request" };
  return { agent: { ...agent, ...FRESH }, tasks: [], headlines: [] };
}

/** True when each of `count` runs has ended and was delivered, and the agent is idle. */
export function isOver({ agent, tasks }: Timeline, count: number): boolean {
  const accounted = tasks.filter(({ end, delivered }) => end !== undefined && delivered.length > 0);
  return accounted.length === count && agent.spans.every(({ to }) => to !== undefined);
}

/** The timeline after one more of the host's events. Pure. */
export function advance(timeline: Timeline, event: RecordedEvent): Timeline {
  const { agent, tasks } = timeline;
  if (event.type === "session.created" || event.type === "session.updated") {
    return withTask(timeline, event.properties.info);
  }
  if (!("sessionID" in event.properties)) return timeline;
  const { sessionID } = event.properties;
  if (sessionID !== agent.id) {
    const newest = tasks.findLast(({ id }) => id === sessionID);
    return { ...timeline, tasks: tasks.flatMap((task) => (task === newest ? inTask(task, event) : task)) };
  }
  if (event.type === "message.part.updated" && event.properties.part.type === "text") {
    return withText(timeline, event.properties.part, event.properties.time);
  }
  return { ...timeline, agent: inAgent(agent, event) };
}

const FRESH = { run: 0, spans: [], delivered: [] };

/**
 * Adds a task, recognized by the plugin's own mark: to the host a forked session has no parent. A fork gets its mark soon
 * after it is created.
 */
function withTask(timeline: Timeline, { id, title, parentID, metadata, time }: Session): Timeline {
  const { agent, tasks } = timeline;
  if (launcherIn(metadata) !== agent.id) return timeline;
  const [, name = title, by = ""] = /^(.*) \(@(\S+) subagent\)$/.exec(title) ?? [];
  // A fork may get its title after its mark.
  const renamed = tasks.map((task) => (task.id === id ? { ...task, name, agent: by } : task));
  if (renamed.some((task) => task.id === id)) return { ...timeline, tasks: renamed };
  const lane = { id, name, agent: by, isForked: parentID === undefined, startedAt: time.created, doing: "starts" };
  return { ...timeline, tasks: [...tasks, { ...lane, ...FRESH }] };
}

function launcherIn(metadata: Session["metadata"]): unknown {
  const mark = metadata?.taskchart;
  return typeof mark === "object" && mark !== null && "parentSessionID" in mark ? mark.parentSessionID : undefined;
}

function inAgent(agent: Lane, event: RecordedEvent): Lane {
  const rests = event.type === "session.status" && event.properties.status.type === "idle";
  return rests ? { ...agent, spans: closed(agent, event.at), doing: "is idle" } : atWork(agent, event);
}

/** The lane after an event in its session: with another one below it when the event resumes the task. */
function inTask(task: Lane, event: RecordedEvent): Lane[] {
  if (event.type !== "message.updated") return [task.end ? task : atWork(task, event)];
  const { info } = event.properties;
  if (!task.end) return [info.role === "assistant" ? withAnswer(task, info) : task];
  if (info.role !== "user" || info.time.created < task.end.at) return [task];
  const { end: _, took: __, ...same } = task;
  return [
    task,
    { ...same, run: task.run + 1, startedAt: info.time.created, doing: "starts", spans: [], delivered: [] },
  ];
}

/** A run is over when the answer to its prompt is; that its session is idle would be no more than a hint. */
function withAnswer(task: Lane, { time, error, finish }: AssistantMessage): Lane {
  if (time.completed === undefined || (error === undefined && finish !== "stop")) return task;
  // What was answered before is a fork's inheritance, or an earlier run's.
  if (time.created < task.startedAt) return task;
  const at = time.completed;
  const end = (outcome: NonNullable<Lane["end"]>["outcome"], doing: string): Lane => ({
    ...task,
    doing,
    spans: closed(task, at),
    end: { outcome, at },
  });
  if (error === undefined) return end("completed", "answered");
  if (error.name === "MessageAbortedError") return end("cancelled", "stopped");
  return end("error", "message" in error.data ? String(error.data.message) : error.name);
}

function atWork(lane: Lane, event: RecordedEvent): Lane {
  if (event.type === "session.status" && event.properties.status.type === "busy") {
    if (lane.spans.some(({ to }) => to === undefined)) return lane;
    const span = { id: `busy since ${event.at}`, kind: "model", from: event.at, to: undefined } as const;
    return { ...lane, doing: "thinks", spans: [...lane.spans, span] };
  }
  if (event.type === "message.part.delta") return { ...lane, doing: "answers" };
  return event.type === "message.part.updated" ? withPart(lane, event.properties.part) : lane;
}

function withPart(lane: Lane, part: Part): Lane {
  if (part.type !== "tool" || part.state.status === "pending") return lane;
  const { input, status, time } = part.state;
  const { description, prompt, filePath } = input;
  const what = description ?? prompt ?? (typeof filePath === "string" ? basename(filePath) : "");
  const to = status === "running" ? undefined : part.state.time.end;
  const span: Span = { id: part.callID, kind: "tool", from: time.start, to };
  const doing = status === "completed" ? "thinks" : `${part.tool} ${what}`.trimEnd();
  return { ...lane, doing, spans: [...lane.spans.filter(({ id }) => id !== part.callID), span] };
}

/** After a text in the agent's session, which may be a part of a notice. */
function withText(timeline: Timeline, { text, synthetic }: TextPart, at: number): Timeline {
  // What the agent says itself may come between the parts of a notice.
  if (!synthetic) return isHeadline(text) ? { ...timeline, headlines: [...timeline.headlines, text] } : timeline;
  const notices = noticesOf(timeline.headlines, text);
  if (notices.length === 0) return timeline;
  const tasks = timeline.tasks.map((task) => {
    const notice = notices.find(({ taskId, run }) => taskId === task.id && run === task.run);
    if (!notice) return task;
    const doing = `delivered ${duration(at - (task.end?.at ?? at))} later`;
    return { ...task, doing, delivered: [...task.delivered, at], took: notice.took };
  });
  return { ...timeline, tasks, headlines: [] };
}

function closed({ spans }: Lane, at: number): Span[] {
  return spans.map((span) => ({ ...span, to: span.to ?? at }));
}
