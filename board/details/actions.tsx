import { useRef, useState } from "preact/hooks";
import type { ApiTask } from "../../src/services/http/contract/api-task.ts";
import { otherModelFor } from "../../src/services/text/retry-text.ts";
import { cancelTask, continueTask, pauseTask, readTask, resumeTask, retryTask, steerTask } from "../api.ts";
import { isActive } from "../filters.ts";
import { count } from "../format.ts";
import type { ListedTask } from "../listed-task.ts";
import { StatusMark } from "../status-mark.tsx";
import { TokenForm } from "../token-form.tsx";
import { useAction } from "./use-action.ts";

type Below = Pick<ListedTask, "sessionID" | "status" | "state" | "attention" | "description">;

/** Finds the tasks below a task that have not ended: they stop with it. */
const activeBelow = async (id: string): Promise<Below[]> => {
  const { childTaskIds } = await readTask(id);
  const children = await Promise.all(childTaskIds.map((child) => readTask(child)));
  const below = await Promise.all(children.map(({ sessionID }) => activeBelow(sessionID)));
  return children.flatMap((child, index) => [...(isActive(child) ? [child] : []), ...(below[index] ?? [])]);
};

interface ActionsProps {
  task: ApiTask;
  hasToken: boolean;
  onChanged(task: ApiTask): void;
  onToken(token: string): void;
  onTokenLost(): void;
}

/** What a person can write to a task, by the event that it allows. */
const WRITE = {
  STEER: {
    send: steerTask,
    label: "Further instruction",
    placeholder: "Give it a further instruction …",
    button: "Steer",
  },
  RESUME: { send: resumeTask, label: "Follow-up prompt", placeholder: "Have it go on with …", button: "Resume" },
  RETRY: {
    send: retryTask,
    label: "Prompt, if any",
    placeholder: "Prompt, if any …",
    button: "Retry",
  },
} as const;

/** The button that pauses a task or has it go on, by the event that the task allows. */
const PAUSE_WAYS = {
  PAUSE: { send: pauseTask, button: "Pause" },
  CONTINUE: { send: continueTask, button: "Continue" },
} as const;

/** What a person can do with a task: pause it, stop it, give it an instruction, or have it go on. */
export const Actions = ({ task, hasToken, onChanged, onToken, onTokenLost }: ActionsProps) => {
  const { canAct, problem, act } = useAction(onChanged, onTokenLost);
  const [prompt, setPrompt] = useState("");
  const [model, setModel] = useState("");
  const [below, setBelow] = useState<Below[] | string>();
  const [asksForToken, askForToken] = useState(false);
  const dialog = useRef<HTMLDialogElement>(null);
  const otherModel = otherModelFor(task);
  const allowed = (["STEER", "RESUME", "RETRY"] as const).find((event) => task.allowed.includes(event));
  const way = allowed ?? (otherModel === "needed" ? "RETRY" : undefined);
  const write = way && WRITE[way];
  const asksModel = way === "RETRY" && otherModel !== undefined;
  const given = { prompt: prompt.trim(), model: asksModel ? model.trim() : "" };
  const isComplete = way === "RETRY" ? otherModel !== "needed" || given.model !== "" : given.prompt !== "";
  const pause = (["PAUSE", "CONTINUE"] as const).find((event) => task.allowed.includes(event));
  const canCancel = task.allowed.includes("CANCEL");
  if (!write && !canCancel && problem === "") return null;

  if (!hasToken) {
    return (
      <section class="actions read-only" aria-label="Actions">
        {asksForToken ? (
          <TokenForm reason="The token is in server.json in the plugin's data folder." onToken={onToken} />
        ) : (
          <p class="soft">
            Read-only. <code>opencode-taskchart open</code> opens this page with the token, to stop and steer tasks;{" "}
            <button type="button" class="link" onClick={() => askForToken(true)}>
              or enter it
            </button>
            .
          </p>
        )}
        {problem !== "" && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
      </section>
    );
  }

  const send = async () => {
    if (!write || !isComplete) return;
    const isDone = await act(() => write.send(task.sessionID, given.prompt, given.model));
    if (!isDone) return;
    setPrompt("");
    setModel("");
  };

  const confirmCancel = () => {
    setBelow(undefined);
    dialog.current?.showModal();
    activeBelow(task.sessionID).then(setBelow, (error: unknown) =>
      setBelow(error instanceof Error ? error.message : String(error)),
    );
  };

  return (
    <section class="actions" aria-label="Actions">
      {write && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void send();
          }}
        >
          <label>
            <span class="sr">{write.label}</span>
            <textarea
              rows={1}
              placeholder={write.placeholder}
              value={prompt}
              onInput={({ currentTarget }) => setPrompt(currentTarget.value)}
            />
          </label>
          {asksModel && (
            <label>
              <span class="sr">Another model{otherModel === "needed" ? "" : ", if any"}</span>
              <input
                type="text"
                class="model"
                placeholder={
                  otherModel === "needed" ? "Other model: provider/model" : "Other model, if any: provider/model"
                }
                value={model}
                onInput={({ currentTarget }) => setModel(currentTarget.value)}
              />
            </label>
          )}
          <button type="submit" class="primary" disabled={!canAct || !isComplete}>
            {write.button}
          </button>
        </form>
      )}
      {pause && (
        <button type="button" disabled={!canAct} onClick={() => void act(() => PAUSE_WAYS[pause].send(task.sessionID))}>
          {PAUSE_WAYS[pause].button}
        </button>
      )}
      {canCancel && (
        <button type="button" class="danger" disabled={!canAct} onClick={confirmCancel}>
          Cancel task
        </button>
      )}
      {problem !== "" && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <dialog ref={dialog} aria-labelledby="cancel-title">
        <h3 id="cancel-title">Cancel “{task.description}”?</h3>
        {below === undefined ? (
          <p class="soft">Looking for what else stops …</p>
        ) : typeof below === "string" ? (
          <p class="problem">Its own tasks could not be listed: {below} They stop with it.</p>
        ) : below.length === 0 ? (
          <p>Nothing else stops with it. Its agent's work so far is kept.</p>
        ) : (
          <>
            <p>
              {count(below.length, "task")} that it launched {below.length === 1 ? "stops" : "stop"} with it:
            </p>
            <ul class="related">
              {below.map((one) => (
                <li key={one.sessionID}>
                  <StatusMark task={one} size={14} /> {one.description}
                </li>
              ))}
            </ul>
          </>
        )}
        <form method="dialog" class="buttons">
          <button type="submit">Keep it</button>
          <button
            type="submit"
            class="danger"
            disabled={!canAct || below === undefined}
            onClick={() => void act(() => cancelTask(task.sessionID))}
          >
            Cancel {Array.isArray(below) && below.length > 0 ? `all ${below.length + 1}` : "it"}
          </button>
        </form>
      </dialog>
    </section>
  );
};
