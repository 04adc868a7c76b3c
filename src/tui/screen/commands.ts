import type { TuiPluginApi } from "@opencode-ai/plugin/tui";
import type { Guard } from "./guard.ts";

/** The keys of the panel; undefined where a command has none. */
export interface Keys {
  list: string | undefined;
  back: string | undefined;
}

/** What the commands do. */
export interface CommandDeps {
  api: TuiPluginApi;
  guard: Guard;
  keys: Keys;
  openList: () => void;
  back: () => void;
}

const CATEGORY = "Tasks";

/** Registers the commands: in the palette, as `/tasks` and `/back`, and with their keys. */
export const registerCommands = ({ api, guard, keys, openList, back }: CommandDeps): void => {
  const command = (name: string, title: string, slashName: string, run: () => void) => ({
    namespace: "palette",
    name: `taskchart.${name}`,
    title,
    category: CATEGORY,
    slashName,
    run: () => guard(`the command /${slashName} failed`, run, undefined),
  });
  const binding = (name: string, key: string | undefined) =>
    key === undefined ? [] : [{ key, cmd: `taskchart.${name}` }];
  const dispose = api.keymap.registerLayer({
    commands: [
      command("list", "Background tasks: list, open, stop, answer", "tasks", openList),
      command("back", "Back to where I was before I opened a task", "back", back),
    ],
    bindings: [...binding("list", keys.list), ...binding("back", keys.back)],
  });
  api.lifecycle.onDispose(dispose);
};

/** Returns a key as the person presses it: `<leader>` stands for a key that the person may have changed. */
export const shownKey = (key: string, { tuiConfig }: Pick<TuiPluginApi, "tuiConfig">): string => {
  const [leader] = tuiConfig.keybinds.get("leader");
  const pressed = typeof leader?.key === "string" ? leader.key.split(",")[0] : undefined;
  return key.replace("<leader>", `${pressed ?? "ctrl+x"} `);
};
