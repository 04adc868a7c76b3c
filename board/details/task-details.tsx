import { useEffect, useState } from "preact/hooks";
import type { ApiTask } from "../../src/services/http/contract/api-task.ts";
import { formatWakes } from "../../src/services/text/amounts.ts";
import { otherServer } from "../../src/services/text/model-and-server.ts";
import { readTask } from "../api.ts";
import { isActive } from "../filters.ts";
import { duration, shortId, time, usage } from "../format.ts";
import { useNow } from "../hooks.ts";
import { statusText } from "../mark.ts";
import { StatusMark } from "../status-mark.tsx";
import type { TaskBoard } from "../task-board.ts";
import { Actions } from "./actions.tsx";
import { Chart } from "./chart.tsx";
import { Conversation } from "./conversation.tsx";
import { Overview } from "./overview.tsx";
import { Requests } from "./requests.tsx";
import { Tabs } from "./tabs.tsx";
import { Timeline } from "./timeline.tsx";

const VIEWS = [
  ["", "Overview"],
  ["conversation", "Conversation"],
  ["timeline", "Timeline"],
  ["chart", "Chart"],
] as const;

interface TaskDetailsProps {
  id: string;
  view: string;
  board: TaskBoard;
  hasToken: boolean;
  onView(view: string): void;
  onOpen(id: string): void;
  onClose(): void;
  onToken(token: string): void;
  onTokenLost(): void;
}

/** Follows one task: whole, and again after each change. `version` counts the changes. */
const useTask = (id: string, board: TaskBoard) => {
  const [task, setTask] = useState<ApiTask>();
  const [problem, setProblem] = useState("");
  const [version, setVersion] = useState(0);
  useEffect(() => {
    let leaving = new AbortController();
    const read = async () => {
      leaving.abort();
      leaving = new AbortController();
      const { signal } = leaving;
      try {
        const read = await readTask(id, signal);
        if (signal.aborted) return;
        setTask(read);
        setProblem("");
      } catch (error) {
        if (!signal.aborted) setProblem(error instanceof Error ? error.message : String(error));
      }
    };
    void read();
    const stop = board.onTask((changed, now) => {
      if (changed !== id) return;
      if (!now) return setProblem("This task was cleared.");
      setVersion((count) => count + 1);
      // An event has long values shortened, and its gate is not compared with the files that are there.
      if (now.cut || now.receipt?.gate) void read();
      else {
        setTask(now);
        setProblem("");
      }
    });
    return () => {
      stop();
      leaving.abort();
    };
  }, [id, board]);
  return { task, problem, version, setTask };
};

/** Facts that take a line each. */
const LONG: readonly string[] = ["Wakes", "Directory"];

type Fact = [name: string, value: string, title?: string | undefined];

const Facts = ({ task }: { task: ApiTask }) => {
  const now = useNow(isActive(task));
  const end = task.completedAt === undefined ? now : Date.parse(task.completedAt);
  const { model, progress } = task;
  const server = otherServer(task);
  const wakes = formatWakes(progress.wakeCosts);
  const facts: Fact[] = [
    ["Agent", task.agent],
    ["Model", model ? [model.modelID, model.variant].filter(Boolean).join(" ") : "the agent's own", model?.providerID],
    ["Launched", time(task.startedAt), task.startedAt],
    [task.resumeCount > 0 ? `Run ${task.resumeCount + 1}` : "Run", duration(end - Date.parse(task.runStartedAt))],
    ["Used", usage(task.usage) || "not reported"],
    ...(wakes === undefined
      ? []
      : [["Wakes", wakes, "What it cost to wake the agent that launched it: no part of what it used"] as Fact]),
    [
      "Tool calls",
      String(progress.toolCalls),
      Object.entries(progress.toolCallsByName)
        .map(([tool, n]) => `${tool} ${n}`)
        .join(", "),
    ],
    ...(server === undefined ? [] : [["Server", server] as [string, string]]),
    ["Directory", task.directory],
  ];
  return (
    <dl class="facts">
      {facts.map(([name, value, title]) => (
        <div key={name} class={LONG.includes(name) ? "long" : ""}>
          <dt>{name}</dt>
          <dd title={title}>{value}</dd>
        </div>
      ))}
    </dl>
  );
};

/** One task: what it is at, what can be done, and how it got there. */
export const TaskDetails = (props: TaskDetailsProps) => {
  const { id, view, board, hasToken, onView, onOpen, onClose, onToken, onTokenLost } = props;
  const { task, problem, version, setTask } = useTask(id, board);
  const liveView = document.querySelector<HTMLMetaElement>('meta[name="live-view"]')?.content ?? "";
  const shown = VIEWS.some(([name]) => name === view) ? view : "";
  const changed = (now: ApiTask) => {
    setTask(now);
    onTokenLost();
  };
  return (
    <section class="details" aria-labelledby="details-title">
      <div class="top">
        <button type="button" class="back" onClick={onClose}>
          <span aria-hidden="true">←</span> All tasks
        </button>
        <div class="title">
          {task && <StatusMark task={task} size={20} />}
          <h2 id="details-title" tabIndex={-1}>
            {task?.description ?? board.find(id)?.description ?? shortId(id)}
          </h2>
        </div>
        {problem !== "" && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        {task && (
          <>
            <p class="standing">
              <b class={`status ${task.status}`}>{statusText(task)}</b> <code title={id}>{id}</code>
              {liveView !== "" && (
                <>
                  {" "}
                  <a href={`${liveView}#${encodeURIComponent(id)}`}>Live view</a>
                </>
              )}
            </p>
            {task.why !== undefined && task.waiting && (
              <p class="why">
                Waits for {task.why} <Since at={task.waiting.since} />
              </p>
            )}
          </>
        )}
      </div>
      {task && (
        <>
          <Requests task={task} hasToken={hasToken} onChanged={changed} onTokenLost={onTokenLost} />
          <Facts task={task} />
          <Actions task={task} hasToken={hasToken} onChanged={changed} onToken={onToken} onTokenLost={onTokenLost} />
          <Tabs views={VIEWS} shown={shown} onShow={onView}>
            {shown === "" && (
              <Overview task={task} board={board} hasToken={hasToken} onOpen={onOpen} onTokenLost={onTokenLost} />
            )}
            {shown === "conversation" && (
              <Conversation id={task.sessionID} version={version} isActive={isActive(task)} />
            )}
            {shown === "timeline" && <Timeline id={task.sessionID} version={version} />}
            {shown === "chart" && <Chart id={task.sessionID} states={task.states} />}
          </Tabs>
        </>
      )}
    </section>
  );
};

const Since = ({ at }: { at: string }) => {
  const now = useNow(true);
  return <span class="soft">for {duration(now - Date.parse(at))}</span>;
};
