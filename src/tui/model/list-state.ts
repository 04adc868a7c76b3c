import { ACTION_KEYS, type TaskAction } from "./offers.ts";

/** Where a person is in the list of tasks. */
export interface ListState {
  query: string;
  /** Letters go into the query, and are no keys of the list. */
  isSearching: boolean;
  /** The task that the keys are about; absent: the first that is shown. */
  selected?: string | undefined;
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

/** What follows from a key: the new state, and what is to be done with the selected task. `isUsed`: nobody else needs it. */
export interface KeyResult {
  state: ListState;
  action?: TaskAction | "back";
  isUsed: boolean;
}

/** Rows that page up and page down move. */
const PAGE = 10;

const MOVES: Readonly<Record<string, number>> = {
  up: -1,
  down: 1,
  pageup: -PAGE,
  pagedown: PAGE,
  home: Number.NEGATIVE_INFINITY,
  end: Number.POSITIVE_INFINITY,
};

/** The beginning: nothing is searched, and the first task is selected. */
export const INITIAL: ListState = { query: "", isSearching: false };

/** Returns the place of the selected task among those that are shown; the first where it is not among them. */
export const placeOf = ({ selected }: ListState, ids: readonly string[]): number =>
  Math.max(0, selected === undefined ? 0 : ids.indexOf(selected));

const moved = (state: ListState, ids: readonly string[], by: number): ListState => {
  const place = Math.min(ids.length - 1, Math.max(0, placeOf(state, ids) + by));
  return { ...state, selected: ids[place] };
};

const isText = ({ sequence, ctrl, meta }: Key): boolean => !ctrl && !meta && /^\P{C}+$/u.test(sequence);

const whileSearching = (state: ListState, key: Key): KeyResult | undefined => {
  const searched = (query: string): KeyResult => ({ state: { ...state, query, selected: undefined }, isUsed: true });
  if (key.name === "return") return { state: { ...state, isSearching: false }, isUsed: true };
  if (key.name === "backspace") {
    if (state.query === "") return { state: { ...state, isSearching: false }, isUsed: true };
    return searched([...state.query].slice(0, -1).join(""));
  }
  return isText(key) ? searched(state.query + key.sequence) : undefined;
};

/** Returns what a key does. `ids` are the tasks that are shown, from top to bottom. */
export const afterKey = (state: ListState, key: Key, ids: readonly string[]): KeyResult => {
  const move = key.ctrl || key.meta ? undefined : MOVES[key.name];
  if (move !== undefined) return { state: moved(state, ids, move), isUsed: true };
  if (state.isSearching) return whileSearching(state, key) ?? { state, isUsed: false };
  if (key.ctrl || key.meta) return { state, isUsed: false };
  if (key.sequence === "/") return { state: { ...state, isSearching: true }, isUsed: true };
  if (key.name === "j" || key.name === "k")
    return { state: moved(state, ids, key.name === "j" ? 1 : -1), isUsed: true };
  if (key.name === "b") return { state, action: "back", isUsed: true };
  const found = ACTION_KEYS.find((candidate) => candidate.key === key.name);
  return found ? { state, action: found.action, isUsed: true } : { state, isUsed: false };
};
