import type { TuiPluginApi } from "@opencode-ai/plugin/tui";
import { shownSession } from "./slots.ts";

/** Opens the sessions of tasks, and finds the way back. */
export interface Navigation {
  /** Opens the session of a task: a fork and one deep below others, too. */
  open(taskId: string): void;
  /** Returns to where the person was before the last `open`; without one, from a task's session to the one above it. */
  back(): void;
}

/**
 * Creates the navigation. It remembers the way for as long as the interface is open.
 * @param above returns the session that launched the task of a session; undefined where it is no task's
 */
export const createNavigation = (
  api: Pick<TuiPluginApi, "route" | "ui">,
  above: (sessionID: string) => string | undefined,
): Navigation => {
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
      const here = shownSession(api.route.current);
      const parent = here === undefined ? undefined : above(here);
      if (way.length > 0) go(way.pop());
      else if (parent !== undefined) go(parent);
      else api.ui.toast({ variant: "info", message: "This is no task's session, and you have opened none before." });
    },
  };
};
