import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { wakesInShort } from "../src/services/text/amounts.ts";
import { waitsForYou } from "../src/services/text/task-counts.ts";
import { TaskDetails } from "./details/task-details.tsx";
import type { Connection } from "./event-stream.ts";
import { FilterBar } from "./filter-bar.tsx";
import { type Filters, type Place, readPlace, writePlace } from "./filters.ts";
import { FleetSection } from "./fleet.tsx";
import { count, usage } from "./format.ts";
import { IsLive } from "./is-live.ts";
import { LiveViews } from "./live-views.tsx";
import { createTaskBoard, type TaskBoard } from "./task-board.ts";
import { TaskList } from "./task-list.tsx";
import { keepToken, readToken } from "./token.ts";
import { TokenForm } from "./token-form.tsx";

const CONNECTION_TEXTS: Readonly<Record<Connection, string>> = {
  connecting: "Connecting …",
  live: "Live",
  lost: "Connection lost. Looking for an OpenCode …",
  locked: "Locked",
};

const NO_FILTERS: Filters = { status: "", agent: "", directory: "", search: "" };

/** Keeps what the page shows in the address, so that a link shows the same. */
const usePlace = (): [Place, (changes: Partial<Place>, how?: "push" | "replace") => void] => {
  const [place, setPlace] = useState(() => readPlace(location.search));
  useEffect(() => {
    const onPop = () => setPlace(readPlace(location.search));
    addEventListener("popstate", onPop);
    return () => removeEventListener("popstate", onPop);
  }, []);
  const change = useCallback((changes: Partial<Place>, how: "push" | "replace" = "push") => {
    const next = { ...readPlace(location.search), ...changes };
    const address = location.pathname + writePlace(next);
    if (how === "push") history.pushState(null, "", address);
    else history.replaceState(null, "", address);
    setPlace(next);
  }, []);
  return [place, change];
};

const useBoard = (filters: Filters): TaskBoard => {
  const board = useMemo(() => createTaskBoard(filters), []);
  const [, redraw] = useState(0);
  useEffect(() => board.subscribe(() => redraw((times) => times + 1)), [board]);
  const { status, agent, directory, search } = filters;
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current) board.filter({ status, agent, directory, search });
    isFirst.current = false;
  }, [board, status, agent, directory, search]);
  return board;
};

/** The board: the tasks, and one of them in detail. */
export const Board = () => {
  const [place, change] = usePlace();
  const board = useBoard(place);
  const [hasToken, setHasToken] = useState(() => readToken() !== undefined);
  const state = board.state();
  const { stats, waiting, connection } = state;
  // A server of another version may not count them.
  const wakes = wakesInShort(stats?.wakeCosts);

  useEffect(() => {
    document.title = waiting.length > 0 ? `(${waiting.length}) Taskchart` : "Taskchart";
  }, [waiting.length]);

  const close = useCallback(() => {
    change({ task: "", view: "" });
    // The list is shown again first where there is no room for both.
    requestAnimationFrame(() => document.getElementById("tasks")?.focus());
  }, [change]);

  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const isTyping = event.target instanceof HTMLElement && event.target.closest("input, textarea, select, dialog");
      if (event.key === "/" && !isTyping) {
        event.preventDefault();
        document.getElementById("search")?.focus();
      } else if (event.key === "Escape" && !(event.target instanceof HTMLElement && event.target.closest("dialog"))) {
        if (event.target instanceof HTMLInputElement && event.target.id === "search") {
          document.getElementById("tasks")?.focus();
        } else if (readPlace(location.search).task !== "") close();
      }
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, [close]);

  const open = (task: string, withKeyboard: boolean) => {
    change({ task }, place.task === "" ? "push" : "replace");
    if (withKeyboard) requestAnimationFrame(() => document.getElementById("details-title")?.focus());
  };

  const onToken = (token: string) => {
    keepToken(token);
    setHasToken(true);
    board.reconnect();
  };

  const directories = useMemo(() => [...new Set(state.tasks.map(({ directory }) => directory))].sort(), [state.tasks]);

  return (
    <IsLive.Provider value={connection === "live"}>
      <div class={place.task === "" ? "board" : "board detailed"}>
        <header>
          <h1>
            <svg class="logo" viewBox="0 0 16 16" width="18" height="18" aria-hidden="true">
              <rect x="1.5" y="1.5" width="8" height="5" rx="2" />
              <rect x="6.5" y="9.5" width="8" height="5" rx="2" class="on" />
              <path d="M5.5 6.5V10q0 2 1 2" />
            </svg>
            Taskchart
          </h1>
          {stats && (
            <p class="summary">
              {waiting.length > 0 && (
                <button type="button" class="waits" onClick={() => change({ ...NO_FILTERS, status: "waiting" })}>
                  {waitsForYou(waiting.length)}
                </button>
              )}
              <span>{stats.activeTasks} active</span>
              <span>{count(stats.totalTasks, "task")}</span>
              <span class="wide">{usage(stats.usage)}</span>
              {wakes && (
                <span
                  class="wide"
                  title="What it cost to wake agents with the ends of their tasks: no part of what the tasks used"
                >
                  {wakes}
                </span>
              )}
            </p>
          )}
          <p class="connection" role="status" data-state={connection}>
            {CONNECTION_TEXTS[connection]}
          </p>
          <nav aria-label="More">
            <LiveViews />
            <a href="/docs">API</a>
          </nav>
        </header>
        {connection === "locked" ? (
          <main class="locked">
            <TokenForm
              reason="Reading the tasks needs the token on this machine. Run `opencode-taskchart open`, which opens this page with it, or enter it here: it is in server.json in the plugin's data folder."
              onToken={onToken}
            />
          </main>
        ) : (
          <main>
            <section class="list" aria-label="Tasks">
              <FilterBar
                filters={place}
                agents={Object.keys(stats?.byAgent ?? {}).sort()}
                directories={directories}
                waiting={waiting.length}
                onChange={(filters) => change(filters, "replace")}
              />
              {connection === "lost" && (
                <p class="problem" role="alert">
                  OpenCode has ended or does not answer, so this is what was last known, and nothing can be done here.
                  The page goes on by itself when it, or another OpenCode, is there. If it does not, run{" "}
                  <code>opencode-taskchart open</code> in a terminal.
                </p>
              )}
              {state.problem !== "" && connection !== "lost" && (
                <p class="problem" role="alert">
                  The tasks could not be loaded: {state.problem}
                </p>
              )}
              <TaskList
                board={state}
                open={place.task}
                hasFilters={Object.keys(NO_FILTERS).some((name) => place[name as keyof Filters] !== "")}
                onOpen={open}
                onNearEnd={board.loadMore}
                onClear={() => change(NO_FILTERS)}
              />
              <FleetSection isLive={connection === "live"} />
              <p class="footer">
                {state.tasks.length < state.total
                  ? `${state.tasks.length.toLocaleString("en")} of ${count(state.total, "task")} loaded`
                  : count(state.total, "task")}
              </p>
            </section>
            {place.task === "" ? (
              <section class="details none" aria-label="Details">
                <p>Choose a task to see what it does, what it waits for and how it got there.</p>
                <p class="keys">
                  <kbd>↑</kbd> <kbd>↓</kbd> choose, <kbd>Enter</kbd> opens, <kbd>/</kbd> searches, <kbd>Esc</kbd> goes
                  back
                </p>
              </section>
            ) : (
              <TaskDetails
                key={place.task}
                id={place.task}
                view={place.view}
                board={board}
                hasToken={hasToken}
                onView={(view) => change({ view }, "replace")}
                onOpen={(task) => change({ task, view: "" })}
                onClose={close}
                onToken={onToken}
                onTokenLost={() => setHasToken(readToken() !== undefined)}
              />
            )}
          </main>
        )}
      </div>
    </IsLive.Provider>
  );
};
