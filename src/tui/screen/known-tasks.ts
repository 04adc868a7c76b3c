import type { TuiPluginApi } from "@opencode-ai/plugin/tui";
import { createEffect, createRoot, createSignal, onCleanup } from "solid-js";
import { afterEvent, type LiveTasks, NO_TASKS } from "../../client/live-tasks.ts";
import type { StatusApiClient } from "../../client/status-api-client.ts";
import { hasEnded } from "../../task.ts";
import type { Guard } from "./guard.ts";

/** What the interface knows at the moment. Each function is reactive: what reads it is drawn again when it changes. */
export interface Known {
  live(): LiveTasks;
  /** Epoch milliseconds; changes each second while a task has not ended, and with each change of a task. */
  now(): number;
  /** The size of the screen. */
  columns(): number;
  rows(): number;
}

/** Milliseconds between two readings of the clock. */
const TICK_MS = 1_000;

/** Follows the tasks until the plugin is disposed of. */
export const followKnown = (api: TuiPluginApi, client: StatusApiClient, guard: Guard): Known => {
  const [live, setLive] = createSignal<LiveTasks>(NO_TASKS);
  const [now, setNow] = createSignal(Date.now());
  const [columns, setColumns] = createSignal(api.renderer.width);
  const [rows, setRows] = createSignal(api.renderer.height);

  const resized = (width: number, height: number) => {
    setColumns(width);
    setRows(height);
  };
  api.renderer.on("resize", resized);

  const follow = async () => {
    for await (const event of client.follow(api.lifecycle.signal)) {
      setNow(Date.now());
      setLive((known) => afterEvent(known, event));
    }
  };
  guard.start("the tasks could not be followed", follow);

  const stopTicking = createRoot((dispose) => {
    createEffect(() => {
      if (![...live().tasks.values()].some((task) => !hasEnded(task))) return;
      const timer = setInterval(() => setNow(Date.now()), TICK_MS);
      onCleanup(() => clearInterval(timer));
    });
    return dispose;
  });

  api.lifecycle.onDispose(() => {
    api.renderer.off("resize", resized);
    stopTicking();
  });
  return { live, now, columns, rows };
};
