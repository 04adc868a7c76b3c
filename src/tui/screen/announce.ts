import type { TuiPluginApi } from "@opencode-ai/plugin/tui";
import { createEffect, createRoot } from "solid-js";
import { announcementOf } from "../model/announcement.ts";
import { conversationOf, tasksOf } from "../model/conversation.ts";
import type { Guard } from "./guard.ts";
import type { Known } from "./known-tasks.ts";
import { shownSession } from "./slots.ts";

/** Says in a toast which tasks were interrupted and go on: once for each interruption and each conversation that is shown. */
export const announceOngoing = (api: TuiPluginApi, known: Known, guard: Guard): void => {
  /** When the newest interruption was that was announced, by conversation, epoch milliseconds. */
  const announced = new Map<string, number>();
  const hostParent = (sessionID: string) => api.state.session.get(sessionID)?.parentID;

  const announce = (): void => {
    const { tasks, server } = known.live();
    if (!server) return;
    const session = shownSession(api.route.current);
    const conversation = session && conversationOf(session, tasks, hostParent);
    const { directory } = api.state.path;
    const shown = conversation
      ? tasksOf(conversation, tasks, hostParent)
      : [...tasks.values()].filter((task) => task.directory === directory);
    const after = announced.get(conversation ?? "") ?? performance.timeOrigin;
    const news = announcementOf({ tasks: shown, isConversation: conversation !== undefined, after });
    if (!news) return;
    announced.set(conversation ?? "", news.upTo);
    api.ui.toast({ variant: "info", message: news.message });
  };

  createRoot((dispose) => {
    createEffect(() => guard("what goes on could not be announced", announce, undefined));
    api.lifecycle.onDispose(dispose);
  });
};
