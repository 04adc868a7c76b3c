import type { Options } from "../../options.ts";
import type { Engine } from "../engine/engine.ts";
import type { Host } from "../host/host.ts";
import { createRecorder, createStatelyRecorder, type Recording } from "../inspection/recorders.ts";
import type { Clock } from "../platform/clock.ts";
import { createListeners } from "../platform/listeners.ts";
import type { Log } from "../platform/log.ts";
import type { Store } from "../store/store.ts";
import type { LivePage } from "./pages.ts";

/** One directory that OpenCode has open in this process. */
export interface OpenDirectory {
  engine: Engine;
  store: Store;
  host: Host;
}

/** The directories that are open in this process. */
export type OpenDirectories = ReturnType<typeof createOpenDirectories>;

export const createOpenDirectories = () => {
  const directories = new Set<OpenDirectory>();
  const changes = createListeners();
  return {
    all: (): readonly OpenDirectory[] => [...directories],
    /** Adds a directory; returns a function that removes it. */
    add: (directory: OpenDirectory) => {
      directories.add(directory);
      const unsubscribe = directory.engine.subscribe(changes.notify);
      return () => {
        unsubscribe();
        directories.delete(directory);
      };
    },
    /** Calls the listener after each change of a task in any of them; returns a function that removes it. */
    onChange: changes.add,
  };
};

/**
 * Milliseconds from the permission to start to the start where OpenCode is about to make its first model request: loading a
 * server's code and opening its port takes 50 ms of computing time on Node and 110 on Bun (medians of 5), by which the request
 * would come later. Where nothing waits, it is started at once.
 */
const START_AFTER_MS = 2_000;

/**
 * Creates a server that is started once it may be, or as soon as somebody needs it.
 * @param serve starts it; resolves to undefined where there is none
 * @param isPrompted true where OpenCode is about to make its first model request: then it is started a moment later
 */
export const createDelayedServer = (
  clock: Clock,
  serve: () => Promise<{ stop(): Promise<void> } | undefined>,
  isPrompted: boolean,
) => {
  let serving: ReturnType<typeof serve> | undefined;
  /** Set while the start is permitted and has not happened. */
  let cancelTimer: (() => void) | undefined;

  const start = () => {
    cancelTimer?.();
    cancelTimer = undefined;
    serving = serve();
  };

  return {
    /** Permits the start. */
    permit: () => {
      cancelTimer = clock.after(isPrompted ? START_AFTER_MS : 0, start);
    },
    /** Starts the server, if it may be, and resolves when it serves or has failed to. Resolves at once if it may not be. */
    ready: async () => {
      if (cancelTimer) start();
      await serving;
    },
    /** Stops the server, or cancels its start. */
    stop: async () => {
      cancelTimer?.();
      cancelTimer = undefined;
      await (await serving)?.stop();
    },
  };
};

/** Creates the live view of this process's charts. `page` reads the HTML of a page that the build has made. */
export const createLiveCharts = (clock: Clock, page: (name: "live" | "stately") => string) => {
  const recorder = createRecorder(clock);
  const stately = createStatelyRecorder();
  return {
    /** The pages, each of which shows the directories that have it switched on. */
    pages: [
      {
        path: "/inspect",
        source: recorder,
        howToSwitchOn: 'set the option "inspect" to true',
        html: () => page("live"),
      },
      {
        path: "/inspect/stately",
        source: stately,
        howToSwitchOn: 'set the option "inspect" to "stately"',
        html: () => page("stately"),
        frames: "https://stately.ai",
      },
    ] satisfies LivePage[],
    /**
     * Starts to record a directory as its option `inspect` says. Returns the recording with the path of the page that shows it;
     * undefined when the option is off.
     */
    record: (
      option: Options["inspect"],
      directory: string,
      log: Log,
    ): (Recording & Pick<LivePage, "path">) | undefined => {
      if (option === false) return undefined;
      if (option === "stately") return { ...stately.record(log), path: "/inspect/stately" };
      return { ...recorder.record(directory), path: "/inspect" };
    },
  };
};
