import type { TuiPluginApi } from "@opencode-ai/plugin/tui";
import { createEffect, createMemo, createRoot, createSignal, onCleanup } from "solid-js";
import { afterEvent, type FollowedTasks, NO_TASKS } from "../../client/follow-tasks.ts";
import type { StatusApiClient } from "../../client/status-api-client.ts";
import { hasEnded } from "../../task.ts";
import { withEarlier } from "../model/earlier-tasks.ts";
import type { PanelTask } from "../model/panel-task.ts";
import { problemOf } from "../model/problem.ts";
import type { Guard } from "./guard.ts";

/** What the interface knows at the moment. Each function is reactive: what reads it is drawn again when it changes. */
export interface Known {
  live(): FollowedTasks;
  /** How often everything was heard anew; 0 before the first time. */
  snapshots(): number;
  /** Adds the tasks of the conversation that is shown to those heard of, in place of the last ones that were added. */
  setEarlier(tasks: readonly PanelTask[]): void;
  /** Epoch milliseconds; changes each second while a task has not ended, and with each change of a task. */
  now(): number;
  /** Why what is known may be out of date or incomplete, in a sentence; undefined where it is neither. */
  problem(): string | undefined;
  /** Why no task can be known here; it never changes. */
  unreachable: string | undefined;
  /** The size of the screen. */
  columns(): number;
  rows(): number;
}

/** Milliseconds between two readings of the clock. */
const TICK_MS = 1_000;

/** How tasks are followed. */
export interface KnownDeps {
  api: TuiPluginApi;
  client: StatusApiClient;
  guard: Guard;
  /** Why they cannot be: then nothing is asked of this machine, whose tasks would be others. */
  unreachable: string | undefined;
}

/** Follows the tasks until the plugin is disposed of. */
export const followKnown = ({ api, client, guard, unreachable }: KnownDeps): Known => {
  const [heard, setHeard] = createSignal<FollowedTasks>(NO_TASKS);
  const [earlier, setEarlier] = createSignal<readonly PanelTask[]>([]);
  const [snapshots, setSnapshots] = createSignal(0);
  const [now, setNow] = createSignal(Date.now());
  const [columns, setColumns] = createSignal(api.renderer.width);
  const [rows, setRows] = createSignal(api.renderer.height);

  const resized = (width: number, height: number) => {
    setColumns(width);
    setRows(height);
  };
  api.renderer.on("resize", resized);

  /** Ids of the tasks that were cleared while the interface was open. */
  const cleared = new Set<string>();

  const follow = async () => {
    for await (const event of client.follow(api.lifecycle.signal)) {
      setNow(Date.now());
      if (event.type === "removed") cleared.add(event.sessionID);
      setHeard((known) => afterEvent(known, event));
      if (event.type === "snapshot") setSnapshots((count) => count + 1);
    }
  };
  if (unreachable === undefined) guard.start("the tasks could not be followed", follow);

  const { live, stop } = createRoot((dispose) => {
    const merged = createMemo(() => ({ ...heard(), tasks: withEarlier(heard().tasks, earlier(), cleared) }));
    createEffect(() => {
      if (![...heard().tasks.values()].some((task) => !hasEnded(task))) return;
      const timer = setInterval(() => setNow(Date.now()), TICK_MS);
      onCleanup(() => clearInterval(timer));
    });
    return { live: merged, stop: dispose };
  });

  api.lifecycle.onDispose(() => {
    api.renderer.off("resize", resized);
    stop();
  });
  const isOff = process.env.ASYNCAGENTS_API_ENABLED?.trim().toLowerCase() === "false";
  const problem = () => unreachable ?? problemOf({ ...live(), hasHeard: snapshots() > 0, isOff });
  return { live, snapshots, setEarlier, now, problem, unreachable, columns, rows };
};
