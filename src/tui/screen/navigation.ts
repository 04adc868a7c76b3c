import type { TuiPluginApi } from "@opencode-ai/plugin/tui";
import { shownSession } from "./slots.ts";

/** Opens the sessions of tasks, and finds the way back. */
export interface Navigation {
  /** Opens the session of a task: a fork and one deep below others, too. */
  open(taskId: string): void;
  /** Returns to where the person was before the last `open`. */
  back(): void;
}

/** Creates the navigation. It remembers the way for as long as the interface is open. */
export const createNavigation = (api: Pick<TuiPluginApi, "route" | "ui">): Navigation => {
  /** The sessions from which others were opened; undefined for the first screen. */
  const way: (string | undefined)[] = [];

  const go = (sessionID: string | undefined): void => {
    if (sessionID === undefined) api.route.navigate("home");
    else api.route.navigate("session", { sessionID });
  };

  return {
    open: (taskId) => {
      const here = shownSession(api.route.current);
      if (here !== taskId) way.push(here);
      go(taskId);
    },
    back: () => {
      if (way.length > 0) go(way.pop());
      else api.ui.toast({ variant: "info", message: "You have opened no task: there is no way back to go." });
    },
  };
};
