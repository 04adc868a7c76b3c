import type { TuiPluginApi } from "@opencode-ai/plugin/tui";
import { createEffect, createRoot } from "solid-js";
import { announcementOf } from "../model/announcement.ts";
import { conversationOf, tasksOf } from "../model/conversation.ts";
import type { Guard } from "./guard.ts";
import type { Known } from "./known-tasks.ts";
import { shownSession } from "./slots.ts";

/** Says in a toast which tasks go on from before, once for each conversation that is shown and each start of OpenCode. */
export const announceOngoing = (api: TuiPluginApi, known: Known, guard: Guard): void => {
  const announced = new Set<string>();
  const hostParent = (sessionID: string) => api.state.session.get(sessionID)?.parentID;

  const announce = (): void => {
    const { tasks, server } = known.live();
    if (!server) return;
    const session = shownSession(api.route.current);
    const conversation = session && conversationOf(session, tasks, hostParent);
    const beginning = `${server.pid} ${server.startedAt} ${conversation ?? ""}`;
    if (announced.has(beginning)) return;
    announced.add(beginning);
    const { directory } = api.state.path;
    const shown = conversation
      ? tasksOf(conversation, tasks, hostParent)
      : [...tasks.values()].filter((task) => task.directory === directory);
    const message = announcementOf({ tasks: shown, isConversation: conversation !== undefined, since: known.since() });
    if (message !== undefined) api.ui.toast({ variant: "info", message });
  };

  createRoot((dispose) => {
    createEffect(() => guard("what goes on could not be announced", announce, undefined));
    api.lifecycle.onDispose(dispose);
  });
};
