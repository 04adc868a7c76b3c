import type { TuiPluginApi, TuiRouteCurrent } from "@opencode-ai/plugin/tui";
import { createMemo } from "solid-js";
import { conversationOf, tasksOf } from "../model/conversation.ts";
import type { Line, Segment } from "../model/line.ts";
import { panelLines } from "../model/panel-lines.ts";
import type { PanelTask } from "../model/panel-task.ts";
import { statusLine } from "../model/status-line.ts";
import { summarize } from "../model/summary.ts";
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
  /** The key that opens the list, as the user presses it. */
  key: string | undefined;
  /** Opens the session of a task. */
  open: (taskId: string) => void;
}

/** Nothing to show: such a line takes no room. */
const NOTHING: Line = { segments: [] };

const MARGIN: Segment = { text: "", tone: "muted" };

/** Returns the session that the interface shows; undefined where it shows something else. */
export const shownSession = (route: TuiRouteCurrent): string | undefined => {
  if (route.name !== "session" || !("params" in route)) return undefined;
  const sessionID = route.params?.sessionID;
  return typeof sessionID === "string" ? sessionID : undefined;
};

/** Draws the panel in the sidebar, and the line that says how many tasks go on. */
export const registerSlots = ({ api, known, guard, key, open }: SlotDeps): void => {
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
            key,
            lost: known.live().lost?.reason,
            unreachable: known.unreachable,
          }),
        [],
      ),
    );
    return linesView(lines, theme, open);
  };

  const status = (sessionID: () => string | undefined, margin = 0): View => {
    const line = createMemo(() =>
      guard(
        "the line about the tasks could not be drawn",
        () => {
          const session = sessionID();
          if (session === undefined) return NOTHING;
          const segments = statusLine(summarize(tasksAround(session)));
          return segments.length === 0 ? NOTHING : { segments: [{ ...MARGIN, text: " ".repeat(margin) }, ...segments] };
        },
        NOTHING,
      ),
    );
    return lineView(line, theme);
  };

  const hasRoomBesidePrompt = () => known.columns() >= LEAST_COLUMNS_BESIDE_PROMPT;

  /** The session that is shown, where the line has no place beside the prompt. */
  const sessionAtBottom = (): string | undefined => {
    const sessionID = shownSession(api.route.current);
    if (sessionID === undefined) return undefined;
    // OpenCode shows no prompt in the session of a subagent, and so not what is beside it either.
    return hasRoomBesidePrompt() && hostParent(sessionID) === undefined ? undefined : sessionID;
  };

  api.slots.register({
    order: ORDER,
    slots: {
      sidebar_content: (_context, props) => panel(() => props.session_id),
      session_prompt_right: (_context, props) => status(() => (hasRoomBesidePrompt() ? props.session_id : undefined)),
      app_bottom: () => status(sessionAtBottom, 2),
    },
  });
};
