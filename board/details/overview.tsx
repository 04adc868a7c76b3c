import { useEffect, useState } from "preact/hooks";
import type { ApiTask } from "../../src/services/http/contract/api-task.ts";
import { instructionFate, missedSentences } from "../../src/services/text/instruction-text.ts";
import { overlapLines } from "../../src/services/text/overlap-text.ts";
import { receiptLines, whyIncomplete } from "../../src/services/text/result-text.ts";
import { missedIn } from "../../src/task.ts";
import { readTask } from "../api.ts";
import { isActive } from "../filters.ts";
import { shortId } from "../format.ts";
import { StatusMark } from "../status-mark.tsx";
import type { TaskBoard } from "../task-board.ts";
import { WorktreeChanges } from "./worktree.tsx";

type Related = Pick<ApiTask, "sessionID" | "status" | "state" | "attention" | "description">;

/** Finds tasks that this one is related to; those that the page has not heard of are read. */
const useRelated = (ids: readonly string[], board: TaskBoard): Related[] => {
  const [read, setRead] = useState<ReadonlyMap<string, Related>>(new Map());
  const key = ids.join(" ");
  useEffect(() => {
    const leaving = new AbortController();
    for (const id of key.split(" ").filter((one) => one !== "" && !board.find(one))) {
      readTask(id, leaving.signal).then(
        (task) => setRead((before) => new Map(before).set(id, task)),
        // One that was cleared, or that cannot be read now, is not listed.
        () => undefined,
      );
    }
    return () => leaving.abort();
  }, [key, board]);
  return ids.flatMap((id) => board.find(id) ?? read.get(id) ?? []);
};

const Links = ({ title, tasks, onOpen }: { title: string; tasks: Related[]; onOpen: (id: string) => void }) =>
  tasks.length === 0 ? null : (
    <section>
      <h3>{title}</h3>
      <ul class="related">
        {tasks.map((task) => (
          <li key={task.sessionID}>
            <button type="button" onClick={() => onOpen(task.sessionID)}>
              <StatusMark task={task} size={14} />
              <span>{task.description}</span>
              <code>{shortId(task.sessionID)}</code>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );

/** What a task was asked and what came of it, and the tasks above and below it. */
export const Overview = ({
  task,
  board,
  hasToken,
  onOpen,
  onTokenLost,
}: {
  task: ApiTask;
  board: TaskBoard;
  hasToken: boolean;
  onOpen: (id: string) => void;
  onTokenLost: () => void;
}) => {
  const incomplete = whyIncomplete(task);
  const missed = missedSentences(missedIn(task), task.error);
  const parents = useRelated(task.parentTaskId === undefined ? [] : [task.parentTaskId], board);
  const children = useRelated(task.childTaskIds, board);
  return (
    <>
      {task.error && (
        <section class="error">
          <h3>Why it failed</h3>
          <pre>{task.error.message}</pre>
          <p class="soft">
            {task.error.name}, {task.error.kind}
          </p>
        </section>
      )}
      {task.result !== undefined && (
        <section>
          <h3>{task.error ? "What it had said so far" : "Result"}</h3>
          {incomplete !== undefined && (
            <p>
              <strong>The result {incomplete}.</strong>
            </p>
          )}
          {task.result === "" ? <p class="soft">The last message has no text.</p> : <pre>{task.result}</pre>}
        </section>
      )}
      {task.instructions !== undefined && (
        <section>
          <h3>Instructions that it was given</h3>
          <ul>
            {task.instructions.map(({ text, from, fate, givenAt }) => (
              <li key={givenAt + text}>
                {text} <span class="soft">({instructionFate({ from, fate })})</span>
              </li>
            ))}
          </ul>
          {missed !== undefined && (
            <p>
              <strong>{missed}</strong>
            </p>
          )}
        </section>
      )}
      {task.earlierText !== undefined && (
        <section>
          <h3>Written before that, and not the result</h3>
          <pre>{task.earlierText}</pre>
        </section>
      )}
      {task.receipt && (
        <section>
          <h3>What was observed</h3>
          <pre>{receiptLines(task.receipt).join("\n")}</pre>
        </section>
      )}
      {task.worktree && !task.worktree.isShared && !isActive(task) && (
        <WorktreeChanges task={task} hasToken={hasToken} onTokenLost={onTokenLost} />
      )}
      {task.progress.overlaps && (
        <section>
          <h3>Files shared with other agents</h3>
          <pre>{overlapLines(task.progress.overlaps, task.parentSessionID).join("\n")}</pre>
        </section>
      )}
      <Links title="Launched these tasks" tasks={children} onOpen={onOpen} />
      <Links title="Launched by" tasks={parents} onOpen={onOpen} />
      <section>
        <h3>Prompt</h3>
        <pre>{task.prompt}</pre>
      </section>
    </>
  );
};
