import type { TuiPluginApi, TuiRouteCurrent } from "@opencode-ai/plugin/tui";
import { createMemo } from "solid-js";
import { conversationOf, tasksOf } from "../model/conversation.ts";
import type { Line, Segment } from "../model/line.ts";
import { panelLines } from "../model/panel-lines.ts";
import type { PanelTask } from "../model/panel-task.ts";
import { homeStatusLine, statusLine, taskStatusLine } from "../model/status-line.ts";
import { summarize } from "../model/summary.ts";
import type { Keys } from "./commands.ts";
import { linesView, lineView, type View } from "./element.ts";
import type { Guard } from "./guard.ts";
import type { Known } from "./known-tasks.ts";

/** Columns of the sidebar that are the panel's, with the scroll bar beside it. */
const SIDEBAR_COLUMNS = 37;

/** Below that many columns of the screen, the line beside the prompt would break the name of the model. */
const LEAST_COLUMNS_BESIDE_PROMPT = 90;

/** Places the panel among OpenCode's parts of the sidebar: above "Context", which has 100. */
const ORDER = 50;

/** What the slots show and do. */
export interface SlotDeps {
  api: TuiPluginApi;
  known: Known;
  guard: Guard;
  /** The keys that open the list and lead back, as the user presses them. */
  keys: Keys;
  /** Opens the session of a task. */
  open: (taskId: string) => void;
}

/** Nothing to show: such a line takes no room. */
const NOTHING: Line = { segments: [] };

/** Columns between the edge of the screen and the line at its bottom. */
const MARGIN = 2;

/** Returns the session that the interface shows; undefined where it shows something else. */
export const shownSession = (route: TuiRouteCurrent): string | undefined => {
  if (route.name !== "session" || !("params" in route)) return undefined;
  const sessionID = route.params?.sessionID;
  return typeof sessionID === "string" ? sessionID : undefined;
};

/** Draws the panel in the sidebar, and the line that says how many tasks go on. */
export const registerSlots = ({ api, known, guard, keys, open }: SlotDeps): void => {
  const theme = () => api.theme.current;
  const hostParent = (sessionID: string) => api.state.session.get(sessionID)?.parentID;

  /** Returns the tasks of the conversation that a session is a part of. */
  const tasksAround = (sessionID: string): PanelTask[] => {
    const { tasks } = known.live();
    return tasksOf(conversationOf(sessionID, tasks, hostParent), tasks, hostParent);
  };

  const panel = (sessionID: () => string): View => {
    const lines = createMemo(() =>
      guard(
        "the panel could not be drawn",
        () =>
          panelLines(tasksAround(sessionID()), {
            columns: SIDEBAR_COLUMNS,
            now: known.now(),
            key: keys.list,
            problem: known.problem(),
            unreachable: known.unreachable,
          }),
        [],
      ),
    );
    return linesView(lines, theme, open);
  };

  /** Draws segments in one line, which takes no room where there are none. */
  const line = (segments: () => readonly Segment[]): View => {
    const drawn = createMemo(() =>
      guard("the line about the tasks could not be drawn", () => ({ segments: [...segments()] }), NOTHING),
    );
    return lineView(drawn, theme);
  };

  const hasRoomBesidePrompt = () => known.columns() >= LEAST_COLUMNS_BESIDE_PROMPT;

  /** True in the session of a task. OpenCode shows no prompt there, unless the task is a fork. */
  const isOfTask = (sessionID: string): boolean =>
    known.live().tasks.has(sessionID) || hostParent(sessionID) !== undefined;

  const besidePrompt = (sessionID: string): Segment[] =>
    hasRoomBesidePrompt() && !isOfTask(sessionID) ? statusLine(summarize(tasksAround(sessionID))) : [];

  const atBottom = (): Segment[] => {
    const { tasks } = known.live();
    const sessionID = shownSession(api.route.current);
    if (sessionID === undefined) {
      const { directory } = api.state.path;
      const isHome = api.route.current.name === "home";
      return isHome
        ? homeStatusLine(summarize([...tasks.values()].filter((task) => task.directory === directory)))
        : [];
    }
    const task = tasks.get(sessionID);
    const summary = summarize(tasksAround(sessionID));
    if (task) return taskStatusLine(summary, { task, backKey: keys.back, columns: known.columns() - 2 * MARGIN });
    return hasRoomBesidePrompt() && !isOfTask(sessionID) ? [] : statusLine(summary);
  };

  const withMargin = (segments: readonly Segment[]): Segment[] =>
    segments.length === 0 ? [] : [{ text: " ".repeat(MARGIN), tone: "muted" }, ...segments];

  api.slots.register({
    order: ORDER,
    slots: {
      sidebar_content: (_context, props) => panel(() => props.session_id),
      session_prompt_right: (_context, props) => line(() => besidePrompt(props.session_id)),
      app_bottom: () => line(() => withMargin(atBottom())),
    },
  });
};
