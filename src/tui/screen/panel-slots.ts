import type { TuiPluginApi } from "@opencode-ai/plugin/tui";
import { createEffect, createMemo, createRoot } from "solid-js";
import type { Line, Segment } from "../model/line.ts";
import { homeStatusLine, panelLines, statusLine, summarize, taskStatusLine } from "../model/panel-lines.ts";
import { announcementOf } from "../model/panel-messages.ts";
import { linesView, lineView, type View } from "./element.ts";
import type { Guard } from "./guard.ts";
import type { Known } from "./known-tasks.ts";
import type { Keys } from "./navigation.ts";

/** Columns of the sidebar that are the panel's, with the scroll bar beside it. */
const SIDEBAR_COLUMNS = 37;

/** Below that many columns of the screen, the line beside the prompt would break the name of the model. */
const LEAST_COLUMNS_BESIDE_PROMPT = 90;

/** Places the panel among OpenCode's parts of the sidebar: above "Context", which has 100. */
const ORDER = 50;

/** Nothing to show: such a line takes no room. */
const NOTHING: Line = { segments: [] };

/** Columns between the edge of the screen and the line at its bottom. */
const MARGIN = 2;

/**
 * Draws the panel in the sidebar, and the line that says how many tasks go on.
 * @param keys the keys that open the list and lead back, as the user presses them
 * @param open opens the session of a task
 */
export const registerSlots = (
  api: TuiPluginApi,
  known: Known,
  guard: Guard,
  keys: Keys,
  open: (taskId: string) => void,
): void => {
  const theme = () => api.theme.current;

  const panel = (sessionID: () => string): View => {
    const lines = createMemo(() =>
      guard(
        "the panel could not be drawn",
        () =>
          panelLines(known.tasksAround(sessionID()), {
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

  const hasLineBesidePrompt = (sessionID: string) =>
    known.columns() >= LEAST_COLUMNS_BESIDE_PROMPT && !known.isOfTask(sessionID);

  const besidePrompt = (sessionID: string): Segment[] =>
    hasLineBesidePrompt(sessionID) ? statusLine(summarize(known.tasksAround(sessionID))) : [];

  const atBottom = (): Segment[] => {
    const sessionID = known.session();
    if (sessionID === undefined) {
      return api.route.current.name === "home" ? homeStatusLine(summarize(known.tasksInDirectory())) : [];
    }
    const task = known.live().tasks.get(sessionID);
    const summary = summarize(known.tasksAround(sessionID));
    if (task) return taskStatusLine(summary, { task, backKey: keys.back, columns: known.columns() - 2 * MARGIN });
    return hasLineBesidePrompt(sessionID) ? [] : statusLine(summary);
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

/** Announces in a toast which tasks were interrupted and go on: once for each interruption and each conversation. */
export const announceOngoing = (api: TuiPluginApi, known: Known, guard: Guard): void => {
  /** When the newest interruption was that was announced, by conversation, epoch milliseconds. */
  const announced = new Map<string, number>();

  const announce = (): void => {
    if (!known.live().server) return;
    const conversation = known.conversation();
    const tasks = conversation === undefined ? known.tasksInDirectory() : known.tasksAround(conversation);
    const after = announced.get(conversation ?? "") ?? performance.timeOrigin;
    const news = announcementOf({ tasks, isConversation: conversation !== undefined, after });
    if (!news) return;
    announced.set(conversation ?? "", news.upTo);
    api.ui.toast({ variant: "info", message: news.message });
  };

  createRoot((dispose) => {
    createEffect(() => guard("what goes on could not be announced", announce, undefined));
    api.lifecycle.onDispose(dispose);
  });
};
