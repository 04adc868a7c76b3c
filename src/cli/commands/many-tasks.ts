// What commands share that do the same with several tasks.
import type { ApiResult, ApiTask } from "../../client/api-types.ts";
import { descendantsOf, type StatusApiClient } from "../../client/status-api-client.ts";
import { type CommandContext, CommandError, EXIT, printJson, TASK_ID, taskIdOf } from "../command.ts";
import { liveTasks, received } from "../task-source.ts";

export const TASK_IDS = `${TASK_ID}; several may be given`;

/** By which option many tasks are chosen at once. */
interface Choice {
  batch?: string | undefined;
  parent?: string | undefined;
  /** Where a command has that option: all that take its event. */
  all?: boolean | undefined;
}

/** What is said where no task takes the event, in words that follow "No task". */
const NONE = { CANCEL: "runs", PAUSE: "runs", CONTINUE: "is paused", RETRY: "can be retried" } as const;

/** A call that was refused. */
export type Refused = Extract<ApiResult<ApiTask>, { ok: false }>;

/** Returns those of the tasks that are below none of the others: what is below is stopped, paused and retried with them. */
export const topmost = (tasks: readonly ApiTask[], all: readonly ApiTask[]): ApiTask[] => {
  const below = new Set(tasks.flatMap((task) => descendantsOf(task.sessionID, all).map(({ sessionID }) => sessionID)));
  return tasks.filter(({ sessionID }) => !below.has(sessionID));
};

/** The tasks that failed or were cancelled. */
const stoppedTasks = async (client: StatusApiClient, { batch, parent }: Choice): Promise<ApiTask[]> => {
  const [failed, cancelled] = await Promise.all([
    client.allTasks({ batch, parent, status: "error" }),
    client.allTasks({ batch, parent, status: "cancelled" }),
  ]);
  return [...received(failed), ...received(cancelled)];
};

/**
 * Returns the ids of the tasks that a command is about: those that are named, or those that are chosen and take this event. Of
 * those, none that is below another one.
 * @throws CommandError where they are chosen in no way or in several, or there is none
 */
export const chosenTasks = async (
  client: StatusApiClient,
  ids: readonly string[],
  event: keyof typeof NONE,
  { batch, parent, all = false }: Choice,
): Promise<string[]> => {
  const ways = [ids.length > 0, batch !== undefined, parent !== undefined, all].filter(Boolean).length;
  const options = event === "RETRY" ? "--batch or --parent" : "--batch, --parent or --all";
  if (ways !== 1) throw new CommandError(`Give ids of tasks, ${options}: exactly one of them.`);
  if (ids.length > 0) return [...new Set(ids.map(taskIdOf))];
  const tasks = event === "RETRY" ? await stoppedTasks(client, { batch, parent }) : await liveTasks(client);
  const chosen = tasks.filter(
    ({ allowed, batchId, parentSessionID }) =>
      allowed.includes(event) &&
      (batch === undefined || batchId === batch) &&
      (parent === undefined || parentSessionID === parent),
  );
  const of = batch !== undefined ? ` of batch ${batch}` : parent !== undefined ? ` of session ${parent}` : "";
  if (chosen.length === 0) throw new CommandError(`No task${of} ${NONE[event]}.`);
  return topmost(chosen, tasks).map(({ sessionID }) => sessionID);
};

/**
 * Does the same with several tasks, and says what came of each; ends with a failure only where none took it.
 * @param before what was refused before that, and whether one task was meant
 */
export const withEach = async (
  { terminal, end }: Pick<CommandContext, "terminal" | "end">,
  ids: readonly string[],
  isJson: boolean | undefined,
  act: (id: string) => Promise<ApiResult<ApiTask>>,
  says: (task: ApiTask) => string,
  before: { refused: readonly Refused[]; isOne?: boolean } = { refused: [] },
) => {
  const done: ApiTask[] = [];
  const refused = [...before.refused];
  for (const id of ids) {
    const result = await act(id);
    if (result.ok) done.push(result.value);
    else refused.push(result);
    if (result.ok && !isJson) terminal.print(says(result.value));
  }
  const [first, ...others] = refused;
  if (first && done.length === 0 && others.length === 0) received(first);
  for (const { reason } of refused) terminal.note(reason);
  if (isJson) printJson(terminal, before.isOne ? done[0] : done);
  if (first) end(done.length === 0 ? EXIT.failed : EXIT.found);
};
