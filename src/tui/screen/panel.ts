import type { TuiPluginApi } from "@opencode-ai/plugin/tui";
import { createEffect, createMemo, createRoot } from "solid-js";
import type { Line, Segment } from "../model/line.ts";
import { homeStatusLine, panelLines, statusLine, summarize, taskStatusLine } from "../model/panel-lines.ts";
import { announcementOf } from "../model/panel-messages.ts";
import { linesView, lineView, type View } from "./element.ts";
import type { Guard } from "./guard.ts";
import type { Known } from "./known-tasks.ts";

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
  keys: PanelOptions,
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
            key: keys.key,
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
    if (task) return taskStatusLine(summary, { task, backKey: keys.backKey, columns: known.columns() - 2 * MARGIN });
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

/** The options of the panel, as `tui.json` gives them: keys in OpenCode's words, such as `ctrl+t`; undefined: none. */
interface PanelOptions {
  /** Opens the list of tasks. */
  key: string | undefined;
  /** Goes back from a task to where one was. */
  backKey: string | undefined;
}

/** Free in OpenCode 1.18, and of no meaning in its prompt: `ctrl+b` moves its cursor, and has OpenCode's own subagents go on alone. */
const DEFAULTS: PanelOptions = { key: "<leader>k", backKey: "<leader>j" };

/** Reads the options. What is wrong has its default, and a sentence that says so. */
export const readPanelOptions = (
  given: Readonly<Record<string, unknown>> = {},
): { options: PanelOptions; faults: string[] } => {
  const options: PanelOptions = { ...DEFAULTS };
  const faults: string[] = [];
  for (const [name, value] of Object.entries(given)) {
    if (name !== "key" && name !== "backKey")
      faults.push(`There is no option "${name}": the panel has "key" and "backKey".`);
    else if (value === false) options[name] = undefined;
    else if (typeof value === "string" && value.trim() !== "") options[name] = value.trim();
    else faults.push(`"${name}" must be a key such as "<leader>k", or false for none; it is "${DEFAULTS[name]}" now.`);
  }
  return { options, faults };
};

/** Returns a key as the person presses it: `<leader>` stands for a key that the person may have changed. */
export const shownKey = (key: string, { tuiConfig }: Pick<TuiPluginApi, "tuiConfig">): string => {
  const [leader] = tuiConfig.keybinds.get("leader");
  const pressed = typeof leader?.key === "string" ? leader.key.split(",")[0] : undefined;
  return key.replace("<leader>", `${pressed ?? "ctrl+x"} `);
};

/** Opens the sessions of tasks, and finds the way back. */
export type Navigation = ReturnType<typeof createNavigation>;

/** Creates the navigation. It remembers the way for as long as the interface is open. */
export const createNavigation = (api: Pick<TuiPluginApi, "route" | "ui">, known: Known) => {
  /** The sessions from which others were opened; undefined for the first screen. */
  const way: (string | undefined)[] = [];

  const go = (sessionID: string | undefined): void => {
    if (sessionID === undefined) api.route.navigate("home");
    else api.route.navigate("session", { sessionID });
  };

  return {
    /** Opens the session of a task: a fork and one deep below others, too. */
    open: (taskId: string): void => {
      const here = known.session();
      if (here !== taskId) way.push(here);
      go(taskId);
    },
    /** Returns to where the person was before the last `open`; without one, from a task's session to its parent's. */
    back: (): void => {
      const parent = known.live().tasks.get(known.session() ?? "")?.parentSessionID;
      if (way.length > 0) go(way.pop());
      else if (parent !== undefined) go(parent);
      else api.ui.toast({ variant: "info", message: "This is no task's session, and you have opened none before." });
    },
  };
};

/** Registers the commands `/tasks` and `/back`, in the palette, too, and with their keys. */
export const registerPanelCommands = (
  { keymap, lifecycle }: TuiPluginApi,
  guard: Guard,
  { key, backKey }: PanelOptions,
  { openList, back }: { openList: () => void; back: () => void },
): void => {
  const command = (name: string, title: string, slashName: string, run: () => void) => ({
    namespace: "palette",
    name: `taskchart.${name}`,
    title,
    category: "Tasks",
    slashName,
    run: () => guard(`the command /${slashName} failed`, run, undefined),
  });
  const binding = (name: string, key: string | undefined) =>
    key === undefined ? [] : [{ key, cmd: `taskchart.${name}` }];
  const dispose = keymap.registerLayer({
    commands: [
      command("list", "Background tasks: list, open, stop, answer", "tasks", openList),
      command("back", "Back to where I was before I opened a task", "back", back),
    ],
    bindings: [...binding("list", key), ...binding("back", backKey)],
  });
  lifecycle.onDispose(dispose);
};
