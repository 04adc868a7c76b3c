import type { TuiPluginApi } from "@opencode-ai/plugin/tui";
import { createEffect, createMemo, createRoot } from "solid-js";
import type { StatusApiClient } from "../../client/status-api-client.ts";
import { tasksBelow } from "../../client/tasks-below.ts";
import { conversationOf } from "../model/conversation.ts";
import type { Guard } from "./guard.ts";
import type { Known } from "./known-tasks.ts";
import { shownSession } from "./slots.ts";

/** Tasks of a conversation that are asked for at most: some megabytes. */
const MOST_TASKS = 1_000;

/** What asking for them needs. */
export interface EarlierDeps {
  api: TuiPluginApi;
  client: StatusApiClient;
  known: Known;
  guard: Guard;
}

/**
 * Asks for all tasks of the conversation that is shown, as only those of them are heard of that have not ended, or were
 * among the last to end: when another one is shown, and when everything is heard anew.
 */
export const askForEarlier = ({ api, client, known, guard }: EarlierDeps): void => {
  const hostParent = (sessionID: string) => api.state.session.get(sessionID)?.parentID;

  const ask = async (conversation: string, isCurrent: () => boolean): Promise<void> => {
    const result = await tasksBelow(client, conversation, MOST_TASKS);
    if (!isCurrent()) return;
    if (result.ok) known.setEarlier(result.value);
    // Where the server is gone, the feed says so, and finds the next one.
    else if (result.kind !== "notRunning") guard.report("earlier tasks could not be read", result.reason);
  };

  createRoot((dispose) => {
    const conversation = createMemo(() =>
      guard(
        "the conversation could not be found",
        () => {
          const session = shownSession(api.route.current);
          return session && conversationOf(session, known.live().tasks, hostParent);
        },
        undefined,
      ),
    );
    let asked = 0;
    createEffect(() => {
      const shown = conversation();
      if (known.snapshots() === 0 || shown === undefined) return;
      asked += 1;
      const mine = asked;
      guard.start("earlier tasks could not be read", () => ask(shown, () => mine === asked));
    });
    api.lifecycle.onDispose(dispose);
  });
};
