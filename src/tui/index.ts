import type { TuiPlugin } from "@opencode-ai/plugin/tui";
import { createStatusApiClient } from "../client/status-api-client.ts";
import { dataFolder } from "../services/platform/data-folder.ts";
import { createGuard } from "./screen/guard.ts";
import { followKnown } from "./screen/known-tasks.ts";
import { registerSlots } from "./screen/slots.ts";

const ID = "opencode-taskchart";

/** The half of the plugin that OpenCode's terminal interface starts: shows the tasks, and lets a person work with them. */
const tui: TuiPlugin = async (api) => {
  const guard = createGuard(api, ID);
  const known = followKnown(api, createStatusApiClient(dataFolder()), guard);
  const open = (taskId: string) => api.route.navigate("session", { sessionID: taskId });
  registerSlots({ api, known, guard, key: () => undefined, open });
};

export default { id: ID, tui };
