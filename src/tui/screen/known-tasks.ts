import { hostname, networkInterfaces } from "node:os";
import type { TuiPluginApi } from "@opencode-ai/plugin/tui";
import { createEffect, createMemo, createRoot, createSignal, onCleanup } from "solid-js";
import type { ApiTask } from "../../client/api-types.ts";
import { afterEvent, type FollowedTasks, NO_TASKS } from "../../client/follow-tasks.ts";
import { type StatusApiClient, tasksBelow } from "../../client/status-api-client.ts";
import { hasEnded } from "../../task.ts";
import { otherMachine, otherMachineText, problemOf } from "../model/panel-messages.ts";
import { conversationOf, tasksOf, withEarlier } from "../model/tasks.ts";
import type { Guard } from "./guard.ts";

/** Milliseconds between two readings of the clock. */
const TICK_MS = 1_000;

/** Tasks of a conversation that are asked for at most: some megabytes. */
const MOST_TASKS = 1_000;

/** Returns the address of the server that the interface is attached to. OpenCode's client has it in a part of its own. */
const addressOf = ({ client }: Pick<TuiPluginApi, "client">): string | undefined => {
  const inner: unknown = Reflect.get(client, "client");
  if (typeof inner !== "object" || inner === null || !("getConfig" in inner)) return undefined;
  const config: unknown = typeof inner.getConfig === "function" ? inner.getConfig() : undefined;
  if (typeof config !== "object" || config === null || !("baseUrl" in config)) return undefined;
  return typeof config.baseUrl === "string" ? config.baseUrl : undefined;
};

/** Returns why the tasks cannot be shown here: they run on another machine; undefined where they can. */
const whyUnreachable = (api: Pick<TuiPluginApi, "client">): string | undefined => {
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all?.map(({ address }) => address) ?? []);
  const other = otherMachine(addressOf(api), new Set([hostname().toLowerCase(), ...addresses]));
  return other === undefined ? undefined : otherMachineText(other);
};

/** Returns the session that the interface shows; undefined where it shows something else. */
const shownSession = ({ current: route }: TuiPluginApi["route"]): string | undefined => {
  if (route.name !== "session" || !("params" in route)) return undefined;
  const sessionID = route.params?.sessionID;
  return typeof sessionID === "string" ? sessionID : undefined;
};

export type Known = ReturnType<typeof followKnown>;

/**
 * Follows the tasks until the plugin is disposed of. Each function of the result is reactive: what reads it is drawn again
 * when it changes.
 */
export const followKnown = (api: TuiPluginApi, client: StatusApiClient, guard: Guard) => {
  // It never changes. Nothing is asked of this machine then: its tasks would be others.
  const unreachable = guard("the server's address could not be read", () => whyUnreachable(api), undefined);
  const [received, setReceived] = createSignal<FollowedTasks>(NO_TASKS);
  const [earlier, setEarlier] = createSignal<readonly ApiTask[]>([]);
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
      setReceived((known) => afterEvent(known, event));
      if (event.type === "snapshot") setSnapshots((count) => count + 1);
    }
  };
  if (unreachable === undefined) guard.start("the tasks could not be followed", follow);

  const hostParent = (sessionID: string) => api.state.session.get(sessionID)?.parentID;
  const session = () => shownSession(api.route);

  /** Requests all tasks of a conversation: the feed has only those that have not ended, or were among the last to end. */
  const askForEarlier = async (conversation: string, isCurrent: () => boolean): Promise<void> => {
    const result = await tasksBelow(client, conversation, MOST_TASKS);
    if (!isCurrent()) return;
    if (result.ok) setEarlier(result.value);
    // Where the server is gone, the feed says so, and finds the next one.
    else if (result.kind !== "notRunning") guard.report("earlier tasks could not be read", result.reason);
  };

  const { live, conversation, stop } = createRoot((dispose) => {
    const merged = createMemo(() => ({ ...received(), tasks: withEarlier(received().tasks, earlier(), cleared) }));
    const root = createMemo(() =>
      guard(
        "the conversation could not be found",
        () => {
          const shown = session();
          return shown && conversationOf(shown, merged().tasks, hostParent);
        },
        undefined,
      ),
    );
    createEffect(() => {
      if (![...received().tasks.values()].some((task) => !hasEnded(task))) return;
      const timer = setInterval(() => setNow(Date.now()), TICK_MS);
      onCleanup(() => clearInterval(timer));
    });
    let asked = 0;
    // When another conversation is shown, and with each new snapshot.
    createEffect(() => {
      const shown = root();
      if (snapshots() === 0 || shown === undefined) return;
      asked += 1;
      const mine = asked;
      guard.start("earlier tasks could not be read", () => askForEarlier(shown, () => mine === asked));
    });
    return { live: merged, conversation: root, stop: dispose };
  });

  api.lifecycle.onDispose(() => {
    api.renderer.off("resize", resized);
    stop();
  });
  const isOff = process.env.ASYNCAGENTS_API_ENABLED?.trim().toLowerCase() === "false";
  return {
    live,
    /** The session that is shown; undefined where something else is. */
    session,
    /** The conversation that it is a part of. */
    conversation,
    /** Returns the tasks of the conversation that a session is a part of. */
    tasksAround: (sessionID: string): ApiTask[] => {
      const { tasks } = live();
      return tasksOf(conversationOf(sessionID, tasks, hostParent), tasks, hostParent);
    },
    /** Returns the tasks of the directory that OpenCode was started in, whose sessions it shows. */
    tasksInDirectory: (): ApiTask[] => {
      const { directory } = api.state.path;
      return [...live().tasks.values()].filter((task) => task.directory === directory);
    },
    /** True in the session of a task. OpenCode shows no prompt there, unless the task is a fork. */
    isOfTask: (sessionID: string): boolean => live().tasks.has(sessionID) || hostParent(sessionID) !== undefined,
    /** Epoch milliseconds; changes each second while a task has not ended, and with each change of a task. */
    now,
    /** Why what is known may be out of date or incomplete, in a sentence; undefined where it is neither. */
    problem: () => unreachable ?? problemOf({ ...live(), hasHeard: snapshots() > 0, isOff }),
    /** Why no task can be known here; it never changes. */
    unreachable,
    columns,
    rows,
  };
};
