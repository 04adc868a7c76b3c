import type { TuiPluginApi } from "@opencode-ai/plugin/tui";
import type { Guard } from "./guard.ts";
import type { Known } from "./known-tasks.ts";

/** The keys of the panel; undefined where a command has none. */
export interface Keys {
  list: string | undefined;
  back: string | undefined;
}

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
  keys: Keys,
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
    bindings: [...binding("list", keys.list), ...binding("back", keys.back)],
  });
  lifecycle.onDispose(dispose);
};
