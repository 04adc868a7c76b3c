import { basename } from "node:path";
import { duration } from "../../src/services/notices.ts";
import type { RecordedEvent } from "../../test/e2e/lab/events.ts";

type PropertiesOf<Type extends RecordedEvent["type"]> = Extract<RecordedEvent, { type: Type }>["properties"];
type Part = PropertiesOf<"message.part.updated">["part"];

/** A stretch of work in epoch milliseconds; without `to` it still goes on. */
type Span = { id: string; kind: "model" | "tool"; from: number; to: number | undefined };

/** One session on the timeline. Times are epoch milliseconds. */
export type Lane = {
  id: string;
  name: string;
  agent: string;
  startedAt: number;
  /** What it does now, in a few words. */
  doing: string;
  spans: Span[];
  end?: { outcome: "completed" | "error" | "cancelled"; at: number };
  /** When its parent got a notice of its end: each time, so that a second one would be seen. */
  told: number[];
  /** How long it took, in the words of its notice. */
  took?: string | undefined;
};

/** The agent that a person talks to, and the tasks that it launched. */
export type Timeline = { agent: Lane; tasks: Lane[] };

/** A timeline on which nothing has happened yet. */
export function begin(id: string, startedAt: number): Timeline {
  const lane = { id, name: "the agent", agent: "build", startedAt, doing: "gets a question" };
  return { agent: { ...lane, spans: [], told: [] }, tasks: [] };
}

/** Whether all is said: each of `count` tasks has ended, each end was told, and the agent is at rest. */
export function isOver({ agent, tasks }: Timeline, count: number): boolean {
  const accounted = tasks.filter(({ end, told }) => end !== undefined && told.length > 0);
  return accounted.length === count && agent.spans.every(({ to }) => to !== undefined);
}

/** The timeline after one more of the host's events. Pure. */
export function advance(timeline: Timeline, event: RecordedEvent): Timeline {
  const { agent, tasks } = timeline;
  if (event.type === "session.created") return withTask(timeline, event.properties.info);
  if (!("sessionID" in event.properties)) return timeline;
  const { sessionID } = event.properties;
  if (sessionID !== agent.id) {
    return { agent, tasks: tasks.map((task) => (task.id === sessionID && !task.end ? inTask(task, event) : task)) };
  }
  if (event.type === "message.part.updated" && event.properties.part.type === "text") {
    return { agent, tasks: tasks.map((task) => withNotice(task, event.properties)) };
  }
  return { agent: inAgent(agent, event), tasks };
}

function withTask({ agent, tasks }: Timeline, info: PropertiesOf<"session.created">["info"]): Timeline {
  if (info.parentID !== agent.id) return { agent, tasks };
  const name = info.title.replace(/ \(@.*\)$/, "");
  const lane = { id: info.id, name, agent: info.agent ?? "", startedAt: info.time.created, doing: "starts" };
  return { agent, tasks: [...tasks, { ...lane, spans: [], told: [] }] };
}

function inAgent(agent: Lane, event: RecordedEvent): Lane {
  const rests = event.type === "session.status" && event.properties.status.type === "idle";
  return rests ? { ...agent, spans: closed(agent, event.at), doing: "rests" } : atWork(agent, event);
}

/** A task is over when the answer to its prompt is; that its session is idle would be no more than a hint. */
function inTask(task: Lane, event: RecordedEvent): Lane {
  if (event.type !== "message.updated" || event.properties.info.role !== "assistant") return atWork(task, event);
  const { time, error, finish } = event.properties.info;
  if (time.completed === undefined || (error === undefined && finish !== "stop")) return task;
  const end = (outcome: NonNullable<Lane["end"]>["outcome"], doing: string, at = time.completed ?? event.at): Lane => ({
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
  const { description, filePath } = input;
  const what = description ?? (typeof filePath === "string" ? basename(filePath) : "");
  const to = status === "running" ? undefined : part.state.time.end;
  const span: Span = { id: part.callID, kind: "tool", from: time.start, to };
  const doing = status === "completed" ? "thinks" : `${part.tool} ${what}`.trimEnd();
  return { ...lane, doing, spans: [...lane.spans.filter(({ id }) => id !== part.callID), span] };
}

/** The task after a text in its parent's session, which may be a part of the notice of its end. */
function withNotice(task: Lane, { part, time }: PropertiesOf<"message.part.updated">): Lane {
  if (part.type !== "text") return task;
  if (part.synthetic) {
    if (taskOf(part.text) !== task.id) return task;
    const doing = `told ${duration(time - (task.end?.at ?? time))} later`;
    return { ...task, doing, told: [...task.told, time] };
  }
  const [, name, took] = /"(.*)" (?:finished in|failed in|cancelled after) (.*)\.\*\*/.exec(part.text) ?? [];
  return name === task.name ? { ...task, took } : task;
}

/** The id of the task that the hidden part of a notice is about. */
export function taskOf(hidden: string): string | undefined {
  return /^Task (ses_\w+) /m.exec(hidden)?.[1];
}

function closed({ spans }: Lane, at: number): Span[] {
  return spans.map((span) => ({ ...span, to: span.to ?? at }));
}
