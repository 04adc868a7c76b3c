import type { TuiPluginApi } from "@opencode-ai/plugin/tui";
import { createMemo, createSignal, onCleanup } from "solid-js";
import type { ApiFleet } from "../../client/api-types.ts";
import type { StatusApiClient } from "../../client/status-api-client.ts";
import { type ListedTasks, type ListRow, listLines, listRows } from "../model/list-lines.ts";
import {
  afterKey,
  INITIAL,
  isForMany,
  type Key,
  type ListState,
  placeOf,
  type TaskAction,
} from "../model/list-state.ts";
import type { Act } from "./act.ts";
import { columnsIn, rowsIn } from "./dialog-size.ts";
import { element, linesView, type View } from "./element.ts";
import type { Guard } from "./guard.ts";
import type { Known } from "./known-tasks.ts";
import type { Navigation } from "./panel.ts";

/** A key before OpenCode has looked at it; `consume` keeps it from everybody else. */
interface KeyPress {
  event: Key;
  consume(): void;
}

/** Rows of the list that are not of tasks: its title, the search, the keys, and what stands between them. */
const FRAME_LINES = 6;

/** Milliseconds between two looks at the fleet. OpenCode asks it no more often. */
const LOOK_EVERY_MS = 5_000;

/**
 * Looks at the fleet again and again for as long as what calls this is drawn. The result is reactive; undefined while nothing
 * is known of a fleet: an OpenCode that is gone is named elsewhere, and an older one knows no fleet.
 */
const followFleet = (client: Pick<StatusApiClient, "fleet">, guard: Guard): (() => ApiFleet | undefined) => {
  const [fleet, setFleet] = createSignal<ApiFleet>();
  let isDrawn = true;
  const look = () =>
    guard.start("the fleet could not be looked at", async () => {
      const result = await client.fleet();
      if (isDrawn) setFleet(result.ok ? result.value : undefined);
    });
  look();
  const timer = setInterval(look, LOOK_EVERY_MS);
  onCleanup(() => {
    isDrawn = false;
    clearInterval(timer);
  });
  return fleet;
};

/**
 * Creates the function that opens the list of tasks.
 * @param keepKeys has the list keep the keys for as long as it is drawn
 */
export const createList = (
  api: TuiPluginApi,
  client: StatusApiClient,
  known: Known,
  guard: Guard,
  navigation: Navigation,
  act: Act,
  keepKeys: () => void,
): (() => void) => {
  const listed = (): ListedTasks => {
    const session = known.session();
    const here = session === undefined ? [] : known.tasksAround(session);
    const isHere = new Set(here);
    return { here, elsewhere: known.tasksInDirectory().filter((task) => !isHere.has(task)) };
  };

  const allListed = () => {
    const { here, elsewhere } = listed();
    return [...here, ...elsewhere];
  };
  const markedIn = ({ marked }: ListState) => allListed().filter(({ sessionID }) => marked.has(sessionID));

  const perform = (action: TaskAction | "back", { task }: ListRow, state: ListState): void => {
    if (action === "open" || action === "back") {
      api.ui.dialog.clear();
      if (action === "open") navigation.open(task.sessionID);
      else navigation.back();
      return;
    }
    const all = allListed();
    const marked = isForMany(action) ? markedIn(state) : [];
    guard.start("an action of the list failed", async () => {
      const isDone = await act(action, marked.length > 0 ? marked : [task], all);
      open(isDone ? { ...state, marked: new Set() } : state);
    });
  };

  const view = (initial: ListState): View => {
    keepKeys();
    const [state, setState] = createSignal(initial);
    // On another machine's OpenCode, the fleet of this one would be another.
    const fleet = known.unreachable === undefined ? followFleet(client, guard) : () => undefined;
    const rows = createMemo(() => guard("the tasks could not be listed", () => listRows(listed(), state()), []));
    const columns = () => columnsIn(known.columns());

    const pressed = ({ event, consume }: KeyPress): void => {
      const ids = rows().map(({ task }) => task.sessionID);
      const result = afterKey(state(), event, ids);
      if (!result) return;
      consume();
      setState(result.state);
      const row = rows()[placeOf(result.state, ids)];
      if (result.action && row) perform(result.action, row, result.state);
    };
    // Before OpenCode's own keys: those that scroll the conversation also close dialogs, and enter could send the prompt.
    onCleanup(
      api.keymap.intercept("key", (press) => guard("a key of the list failed", () => pressed(press), undefined)),
    );

    const lines = createMemo(() =>
      guard("the list could not be drawn", () => {
        const layout = {
          columns: columns(),
          rows: rowsIn(known.rows(), FRAME_LINES + (fleet()?.isUsed ? 1 : 0)),
          now: known.now(),
          marked: markedIn(state()),
          problem: known.problem(),
          fleet: fleet(),
        };
        return listLines(rows(), state(), layout);
      }, []),
    );
    const clicked = (taskId: string) => {
      api.ui.dialog.clear();
      navigation.open(taskId);
    };
    const body = linesView(lines, () => api.theme.current, clicked);
    return element("box", { paddingLeft: 2, paddingRight: 2, paddingBottom: 1 }, body);
  };

  const open = (state: ListState): void => {
    api.ui.dialog.replace(() => view(state));
    api.ui.dialog.setSize("large");
  };
  // In the session of a task, the keys are about that task.
  return () => open({ ...INITIAL, selected: known.session() });
};
