import { useContext, useEffect, useState } from "preact/hooks";
import type { ApiTask, Changes } from "../../src/services/http/contract/api-task.ts";
import {
  changedFile,
  changesSummary,
  cutOffSentence,
  leftOutLines,
  possibleDecisions,
} from "../../src/services/text/worktree-text.ts";
import { ApiError, applyChanges, discardChanges, readChanges } from "../api.ts";
import { IsLive } from "../is-live.ts";
import { Diff } from "./diff.tsx";

/** What became of changes that are not in the worktree any more. */
const BECAME = {
  clean: "Its worktree is removed.",
  applied: "They were applied.",
  discarded: "They were discarded.",
  expired: "They were not applied in time, and the worktree is removed. A patch of them is left:",
  sent: "The server that launched the task has them.",
} as const;

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** What an ended task changed in its worktree, to apply or to discard. */
export const WorktreeChanges = ({
  task,
  hasToken,
  onTokenLost,
}: {
  task: ApiTask;
  hasToken: boolean;
  onTokenLost(): void;
}) => {
  const { sessionID, resumeCount } = task;
  const [changes, setChanges] = useState<Changes>();
  const [problem, setProblem] = useState("");
  const [isUnderWay, setUnderWay] = useState(false);
  const canAct = useContext(IsLive) && !isUnderWay;
  const [isAsked, setAsked] = useState(false);

  // Each run of a resumed task leaves changes of its own.
  useEffect(() => {
    const leaving = new AbortController();
    readChanges(sessionID, leaving.signal).then(setChanges, (error) => {
      if (!leaving.signal.aborted) setProblem(reasonOf(error));
    });
    return () => leaving.abort();
  }, [sessionID, resumeCount]);

  const settle = async (work: (id: string) => Promise<Changes>) => {
    setUnderWay(true);
    setProblem("");
    try {
      const done = await work(sessionID);
      // What was applied or discarded can still be looked at.
      setChanges((before) => ({ ...before, ...done }));
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) onTokenLost();
      setProblem(reasonOf(error));
    } finally {
      setUnderWay(false);
    }
  };

  if (!changes && problem === "") return null;
  const can = changes ? possibleDecisions(changes) : { apply: false, discard: false };
  return (
    <section>
      <h3>Changed in its worktree</h3>
      {changes && (
        <>
          <p>
            {changesSummary(changes.files)}. {changes.became && changes.files.length > 0 && BECAME[changes.became]}
            {changes.became === "expired" && can.discard && <code> {changes.patch}</code>}
          </p>
          {changes.cutOff && <p>{cutOffSentence(changes.cutOff, changes.tree)}</p>}
          {changes.diff === undefined && changes.files.length > 0 && (
            <pre>{changes.files.map(changedFile).join("\n")}</pre>
          )}
          {changes.diff !== undefined && <Diff diff={changes.diff} isCut={changes.isDiffCut === true} />}
          {changes.leftOut && <pre>{leftOutLines(changes.leftOut).join("\n")}</pre>}
        </>
      )}
      {can.discard && hasToken && (
        <p class="buttons">
          {can.apply && (
            <button type="button" class="primary" disabled={!canAct} onClick={() => void settle(applyChanges)}>
              Apply to {changes?.tree}
            </button>
          )}
          {isAsked ? (
            <>
              <button type="button" class="danger" disabled={!canAct} onClick={() => void settle(discardChanges)}>
                {can.apply ? "Remove the worktree, keep a patch" : "Discard it"}
              </button>
              <button type="button" onClick={() => setAsked(false)}>
                Keep it
              </button>
            </>
          ) : (
            <button type="button" class="danger" disabled={!canAct} onClick={() => setAsked(true)}>
              Discard …
            </button>
          )}
        </p>
      )}
      {problem !== "" && (
        <pre class="problem" role="alert">
          {problem}
        </pre>
      )}
    </section>
  );
};
