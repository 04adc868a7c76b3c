import type { TuiPlugin } from "@opencode-ai/plugin/tui";
import { createStatusApiClient } from "../client/status-api-client.ts";
import { dataFolder } from "../services/platform/private-files.ts";
import { readPanelOptions } from "./options.ts";
import { createActions } from "./screen/act.ts";
import { announceOngoing } from "./screen/announce.ts";
import { registerCommands, shownKey } from "./screen/commands.ts";
import { createDialogKeys } from "./screen/dialog-keys.ts";
import { createDialogs } from "./screen/dialogs.ts";
import { askForEarlier } from "./screen/earlier-tasks.ts";
import { createGuard } from "./screen/guard.ts";
import { followKnown } from "./screen/known-tasks.ts";
import { createList } from "./screen/list-dialog.ts";
import { createNavigation } from "./screen/navigation.ts";
import { registerSlots } from "./screen/slots.ts";
import { whyUnreachable } from "./screen/where.ts";

const ID = "opencode-taskchart";

/** The half of the plugin that OpenCode's terminal interface starts: shows the tasks, and lets a person work with them. */
const tui: TuiPlugin = async (api, given) => {
  const guard = createGuard(api, ID);
  const { options, faults } = readPanelOptions(given);
  for (const message of faults) api.ui.toast({ variant: "warning", title: "tui.json: opencode-taskchart", message });

  const client = createStatusApiClient(dataFolder());
  const unreachable = guard("the server's address could not be read", () => whyUnreachable(api), undefined);
  const known = followKnown({ api, client, guard, unreachable });
  askForEarlier({ api, client, known, guard });
  const navigation = createNavigation(api, (sessionID) => known.live().tasks.get(sessionID)?.parentSessionID);
  const keepKeys = createDialogKeys(api);
  const act = createActions({ ui: api.ui, client, dialogs: createDialogs(api, keepKeys), guard });
  const openList = createList({ api, client, known, guard, navigation, act, keepKeys });
  const keys = { list: options.key, back: options.backKey };
  const shown = (key: string | undefined) => key && shownKey(key, api);
  registerCommands({ api, guard, keys, openList, back: navigation.back });
  announceOngoing(api, known, guard);
  registerSlots({
    api,
    known,
    guard,
    keys: { list: shown(keys.list), back: shown(keys.back) },
    open: navigation.open,
  });
};

export default { id: ID, tui };
