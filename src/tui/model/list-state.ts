import type { ApiTask } from "../../client/api-types.ts";
import { otherModelFor } from "../../services/text/retry-text.ts";
import { hasEnded } from "../../task.ts";
import { type AskedRequest, openRequests } from "./tasks.ts";

/** What a person can do with a task in the list. */
export type TaskAction =
  | "open"
  | "stop"
  | "pause"
  | "continue"
  | "resume"
  | "retry"
  | "steer"
  | "answer"
  | "apply"
  | "discard"
  | "why";

/** The keys of the list, in the order in which they are shown. */
export const ACTION_KEYS: readonly { key: string; shown: string; action: TaskAction }[] = [
  { key: "return", shown: "enter", action: "open" },
  { key: "x", shown: "x", action: "stop" },
  { key: "z", shown: "z", action: "pause" },
  { key: "z", shown: "z", action: "continue" },
  { key: "r", shown: "r", action: "resume" },
  { key: "r", shown: "r", action: "retry" },
  { key: "s", shown: "s", action: "steer" },
  { key: "a", shown: "a", action: "answer" },
  { key: "p", shown: "p", action: "apply" },
  { key: "d", shown: "d", action: "discard" },
  { key: "w", shown: "w", action: "why" },
];

/** Returns the requests that block a task: its own, and those of its subtasks, each with the task that asks. */
export const requestsOf = (task: ApiTask, tasks: readonly ApiTask[]): AskedRequest[] => {
  const ids = new Set(task.attention?.requests?.map(({ id }) => id));
  return openRequests(tasks).filter(({ request }) => ids.has(request.id));
};

/**
 * Returns what the key of an action does with a task: one that has failed or was cancelled is retried, not resumed, and one that is
 * paused goes on.
 */
export const actionFor = <Action extends TaskAction>(action: Action, task: ApiTask): Action | "retry" | "continue" => {
  const wasStopped = task.status === "error" || task.status === "cancelled";
  if (action === "resume" && wasStopped) return "retry";
  return action === "pause" && task.waiting?.for === "continue" ? "continue" : action;
};

/** Why a task takes no second request to go on, in words that follow its name. */
const GOES_ON = "is to go on already, once its result is delivered";

const quoted = ({ description }: ApiTask): string => `"${description}"`;

/** Returns why an action makes no sense for a task, in a sentence for the person; undefined if it does. */
export const refusalOf = (action: TaskAction, task: ApiTask): string | undefined => {
  const allows = (event: string) => task.allowed.includes(event);
  switch (action) {
    case "stop":
      return hasEnded(task) && !task.nextRun ? `${quoted(task)} has ended already.` : undefined;
    case "pause":
      if (allows("PAUSE")) return undefined;
      return hasEnded(task) ? `${quoted(task)} has ended already.` : `${quoted(task)} cannot be paused at the moment.`;
    case "continue":
      return allows("CONTINUE") ? undefined : `${quoted(task)} is not paused.`;
    case "resume":
      if (allows("RESUME")) return undefined;
      return hasEnded(task)
        ? task.nextRun
          ? `${quoted(task)} ${GOES_ON}.`
          : `${quoted(task)} cannot be resumed: only a completed task can.`
        : `${quoted(task)} runs: steer it with s, or wait until it has ended.`;
    case "retry":
      return allows("RETRY") || otherModelFor(task) === "needed"
        ? undefined
        : `${quoted(task)} cannot be retried: it ${task.nextRun ? GOES_ON : "would only fail again"}.`;
    case "steer":
      if (allows("STEER")) return undefined;
      return hasEnded(task)
        ? `${quoted(task)} has ended: ${actionFor("resume", task)} it with r.`
        : `${quoted(task)} takes no instructions at the moment.`;
    case "answer":
      return task.attention?.requests?.length ? undefined : `${quoted(task)} has no open request.`;
    case "apply":
    case "discard":
      if (!task.worktree) return `${quoted(task)} has no worktree: what it changes is in your files.`;
      if (task.worktree.isShared) return `${quoted(task)} works in the worktree of its parent task.`;
      return hasEnded(task) ? undefined : `${quoted(task)} runs: wait until it has ended.`;
    default:
      return undefined;
  }
};

/** What may be done with several tasks at once. */
export type ManyAction = Exclude<TaskAction, "open" | "answer" | "why">;

/** What a key with two meanings may do with several tasks: the first of these that any of them takes. */
const IN_ITS_PLACE: Readonly<Partial<Record<TaskAction, readonly ManyAction[]>>> = {
  pause: ["pause", "continue"],
  resume: ["retry", "resume"],
};

const ALONE: ReadonlySet<TaskAction> = new Set(["open", "answer", "why"]);

export const isForMany = (action: TaskAction): action is ManyAction => !ALONE.has(action);

/**
 * Returns what is done with several tasks, and with which of them: with those for which it makes sense. A sentence that says why
 * not where there is none.
 */
export const planFor = (
  asked: ManyAction,
  tasks: readonly ApiTask[],
): { action: ManyAction; tasks: ApiTask[] } | { refused: string } => {
  const [only] = tasks;
  const actions = only && tasks.length === 1 ? [actionFor(asked, only)] : (IN_ITS_PLACE[asked] ?? [asked]);
  for (const action of actions) {
    const fit = tasks.filter((task) => actionFor(asked, task) === action && refusalOf(action, task) === undefined);
    if (fit.length > 0) return { action, tasks: fit };
  }
  const why = only && refusalOf(actionFor(asked, only), only);
  return { refused: tasks.length === 1 ? (why ?? "") : `No marked task takes that. ${why}` };
};

/** Where a person is in the list of tasks. */
export interface ListState {
  query: string;
  /** Letters go into the query, and are no keys of the list. */
  isSearching: boolean;
  /** The task that the keys are about where none is marked; absent: the first that is shown. */
  selected?: string | undefined;
  /** The ids of those that are marked: what may be done with several at once is done with all of these. */
  marked: ReadonlySet<string>;
}

/** A key as the terminal reports it. */
export interface Key {
  /** Its name, such as `return`, `up`, `backspace` or `x`. */
  name: string;
  /** What it writes. */
  sequence: string;
  ctrl: boolean;
  meta: boolean;
}

/** What follows from a key: the new state, and what is to be done with the selected task. */
export interface KeyResult {
  state: ListState;
  action?: TaskAction | "back";
}

/** Rows that page up and page down move. */
const PAGE = 10;

/** By how many lines a key moves. */
export const MOVES: Readonly<Record<string, number>> = {
  up: -1,
  down: 1,
  pageup: -PAGE,
  pagedown: PAGE,
  home: Number.NEGATIVE_INFINITY,
  end: Number.POSITIVE_INFINITY,
  j: 1,
  k: -1,
};

/** The beginning: nothing is searched, and the first task is selected. */
export const INITIAL: ListState = { query: "", isSearching: false, marked: new Set() };

/** Returns the place of the selected task among those that are shown; the first where it is not among them. */
export const placeOf = ({ selected }: ListState, ids: readonly string[]): number =>
  Math.max(0, selected === undefined ? 0 : ids.indexOf(selected));

const moved = (state: ListState, ids: readonly string[], by: number): ListState => {
  const place = Math.min(ids.length - 1, Math.max(0, placeOf(state, ids) + by));
  return { ...state, selected: ids[place] };
};

/** Marks the selected task, or takes its mark away, and goes on to the next one. */
const marking = (state: ListState, ids: readonly string[]): ListState => {
  const id = ids[placeOf(state, ids)];
  const marked = new Set(state.marked);
  if (id !== undefined && !marked.delete(id)) marked.add(id);
  return { ...moved(state, ids, 1), marked };
};

/** Marks all tasks that are shown; where all of them are marked, none is after that. */
const markingAll = (state: ListState, ids: readonly string[]): ListState => {
  const areMarked = ids.every((id) => state.marked.has(id));
  return { ...state, marked: areMarked ? new Set() : new Set([...state.marked, ...ids]) };
};

const isText = ({ sequence, ctrl, meta }: Key): boolean => !ctrl && !meta && /^\P{C}+$/u.test(sequence);

const whileSearching = (state: ListState, key: Key): KeyResult | undefined => {
  const searched = (query: string): KeyResult => ({ state: { ...state, query, selected: undefined } });
  if (key.name === "return") return { state: { ...state, isSearching: false } };
  if (key.name === "backspace") {
    if (state.query === "") return { state: { ...state, isSearching: false } };
    return searched([...state.query].slice(0, -1).join(""));
  }
  return isText(key) ? searched(state.query + key.sequence) : undefined;
};

/** Returns what a key does; undefined where it is of no use to the list. `ids` are the tasks that are shown, from top to bottom. */
export const afterKey = (state: ListState, key: Key, ids: readonly string[]): KeyResult | undefined => {
  const isTyped = state.isSearching && isText(key);
  const move = key.ctrl || key.meta || isTyped ? undefined : MOVES[key.name];
  if (move !== undefined) return { state: moved(state, ids, move) };
  if (state.isSearching) return whileSearching(state, key);
  if (key.ctrl || key.meta) return undefined;
  if (key.sequence === "/") return { state: { ...state, isSearching: true } };
  if (key.name === "space") return { state: marking(state, ids) };
  if (key.sequence === "*") return { state: markingAll(state, ids) };
  if (key.name === "b") return { state, action: "back" };
  const found = ACTION_KEYS.find((candidate) => candidate.key === key.name);
  return found ? { state, action: found.action } : undefined;
};
