import type { TuiPluginApi } from "@opencode-ai/plugin/tui";
import { createEffect, createRoot } from "solid-js";
import { announcementOf } from "../model/announcement.ts";
import { conversationOf, tasksOf } from "../model/conversation.ts";
import type { Guard } from "./guard.ts";
import type { Known } from "./known-tasks.ts";
import { shownSession } from "./slots.ts";

/** Milliseconds after the start of OpenCode within which tasks are taken over that had been interrupted before it. */
const TAKEN_OVER_WITHIN_MS = 30_000;

/** Says in a toast which tasks were interrupted and go on, once for each conversation that is shown. */
export const announceOngoing = (api: TuiPluginApi, known: Known, guard: Guard): void => {
  const announced = new Set<string>();
  const hostParent = (sessionID: string) => api.state.session.get(sessionID)?.parentID;

  const announce = (): void => {
    const { tasks, server } = known.live();
    if (!server) return;
    const since = performance.timeOrigin;
    const session = shownSession(api.route.current);
    const conversation = session && conversationOf(session, tasks, hostParent);
    const beginning = conversation ?? "";
    if (announced.has(beginning)) return;
    const { directory } = api.state.path;
    const shown = conversation
      ? tasksOf(conversation, tasks, hostParent)
      : [...tasks.values()].filter((task) => task.directory === directory);
    const message = announcementOf({ tasks: shown, isConversation: conversation !== undefined, since });
    if (message !== undefined || known.now() - since > TAKEN_OVER_WITHIN_MS) announced.add(beginning);
    if (message !== undefined) api.ui.toast({ variant: "info", message });
  };

  createRoot((dispose) => {
    createEffect(() => guard("what goes on could not be announced", announce, undefined));
    api.lifecycle.onDispose(dispose);
  });
};
