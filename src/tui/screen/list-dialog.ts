import type { TuiPluginApi } from "@opencode-ai/plugin/tui";
import { createMemo, createSignal, onCleanup } from "solid-js";
import type { StatusApiClient } from "../../client/status-api-client.ts";
import { conversationOf, tasksOf } from "../model/conversation.ts";
import { type ListedTasks, type ListRow, listLines, listRows } from "../model/list-lines.ts";
import { afterKey, INITIAL, type Key, type ListState, placeOf } from "../model/list-state.ts";
import type { TaskAction } from "../model/offers.ts";
import type { Act } from "./act.ts";
import { element, linesView, type View } from "./element.ts";
import { followFleet } from "./follow-fleet.ts";
import type { Guard } from "./guard.ts";
import type { Known } from "./known-tasks.ts";
import type { Navigation } from "./navigation.ts";
import { shownSession } from "./slots.ts";

/** What the list needs. */
export interface ListDeps {
  api: TuiPluginApi;
  client: StatusApiClient;
  known: Known;
  guard: Guard;
  navigation: Navigation;
  act: Act;
  /** Has the list keep the keys for as long as it is drawn. */
  keepKeys: () => void;
}

/** A key before OpenCode has looked at it; `consume` keeps it from everybody else. */
interface KeyPress {
  event: Key;
  consume(): void;
}

/** Columns of OpenCode's large dialog, and those of the margins in and around it. */
const DIALOG_COLUMNS = 88;
const MARGINS = { outside: 2, inside: 4 };

/** Rows of tasks: the screen's without those of the frame, the keys, and what else is `taken`; OpenCode shows dialogs in the lower three quarters. */
const rowsFor = (screenRows: number, taken: number): number =>
  Math.max(3, Math.min(20, Math.floor(screenRows * 0.75) - 9 - taken));

/** Creates the function that opens the list of tasks. */
export const createList = ({ api, client, known, guard, navigation, act, keepKeys }: ListDeps): (() => void) => {
  const hostParent = (sessionID: string) => api.state.session.get(sessionID)?.parentID;

  const listed = (): ListedTasks => {
    const { tasks } = known.live();
    const session = shownSession(api.route.current);
    const here = session === undefined ? [] : tasksOf(conversationOf(session, tasks, hostParent), tasks, hostParent);
    const isHere = new Set(here);
    // OpenCode shows the sessions of the directory that it was started in.
    const { directory } = api.state.path;
    const elsewhere = [...tasks.values()].filter((task) => !isHere.has(task) && task.directory === directory);
    return { here, elsewhere };
  };

  const perform = (action: TaskAction | "back", { task }: ListRow, state: ListState): void => {
    if (action === "open" || action === "back") {
      api.ui.dialog.clear();
      if (action === "open") navigation.open(task.sessionID);
      else navigation.back();
      return;
    }
    const { here, elsewhere } = listed();
    guard.start("an action of the list failed", async () => {
      await act(action, task, [...here, ...elsewhere]);
      open(state);
    });
  };

  const view = (initial: ListState): View => {
    keepKeys();
    const [state, setState] = createSignal(initial);
    // On another machine's OpenCode, the fleet of this one would be another.
    const fleet = known.unreachable === undefined ? followFleet(client, guard) : () => undefined;
    const rows = createMemo(() => guard("the tasks could not be listed", () => listRows(listed(), state()), []));
    const columns = () => Math.min(DIALOG_COLUMNS, known.columns() - MARGINS.outside) - MARGINS.inside;

    const pressed = ({ event, consume }: KeyPress): void => {
      const ids = rows().map(({ task }) => task.sessionID);
      const result = afterKey(state(), event, ids);
      if (result.isUsed) consume();
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
          rows: rowsFor(known.rows(), fleet()?.isUsed ? 1 : 0),
          now: known.now(),
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
  return () => open({ ...INITIAL, selected: shownSession(api.route.current) });
};
