import type { TuiPlugin } from "@opencode-ai/plugin/tui";
import { createStatusApiClient } from "../client/status-api-client.ts";
import { dataFolder } from "../services/platform/private-files.ts";
import { createActions, createDialogKeys } from "./screen/act.ts";
import { createGuard } from "./screen/guard.ts";
import { followKnown } from "./screen/known-tasks.ts";
import { createList } from "./screen/list-dialog.ts";
import {
  announceOngoing,
  createNavigation,
  readPanelOptions,
  registerPanelCommands,
  registerSlots,
  shownKey,
} from "./screen/panel.ts";

const ID = "opencode-taskchart";

/** The half of the plugin that OpenCode's terminal interface starts: shows the tasks, and lets a person work with them. */
const tui: TuiPlugin = async (api, given) => {
  const guard = createGuard(api, ID);
  const { options, faults } = readPanelOptions(given);
  for (const message of faults) api.ui.toast({ variant: "warning", title: "tui.json: opencode-taskchart", message });

  const client = createStatusApiClient(dataFolder());
  const known = followKnown(api, client, guard);
  const navigation = createNavigation(api, known);
  const keepKeys = createDialogKeys(api);
  const act = createActions(api, client, known, guard, keepKeys);
  const openList = createList(api, client, known, guard, navigation, act, keepKeys);
  const shown = (key: string | undefined) => key && shownKey(key, api);
  registerPanelCommands(api, guard, options, { openList, back: navigation.back });
  announceOngoing(api, known, guard);
  const shownKeys = { key: shown(options.key), backKey: shown(options.backKey) };
  registerSlots(api, known, guard, shownKeys, navigation.open);
};

export default { id: ID, tui };
