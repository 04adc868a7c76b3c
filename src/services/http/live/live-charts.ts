import type { Options } from "../../../options.ts";
import { createRecorder, type Recording } from "../../inspection/recorder.ts";
import { createStatelyRecorder } from "../../inspection/stately-recorder.ts";
import type { Clock } from "../../platform/clock.ts";
import { errorMessage, type Log } from "../../platform/log.ts";
import type { LivePage } from "./pages.ts";

/** A directory that is watched, and the path of the page that shows it. */
export interface LiveRecording extends Recording {
  path: LivePage["path"];
}

/** How the charts of this process can be watched. */
export interface LiveCharts {
  /** The pages on which they are, for those directories that have them switched on. */
  pages: readonly LivePage[];
  /** Watches a directory as its option says; undefined: not at all, which is logged where it was wanted. */
  watch(option: Options["inspect"], directory: string, log: Log): Promise<LiveRecording | undefined>;
}

/** Nothing is watched yet. `page` reads a page that the build has made. */
export const createLiveCharts = (clock: Clock, page: (name: "live" | "stately") => string): LiveCharts => {
  const inspection = createRecorder(clock);
  const stately = createStatelyRecorder();
  return {
    pages: [
      {
        path: "/inspect",
        watched: inspection,
        switchOn: 'set the option "inspect" to true',
        html: () => page("live"),
      },
      {
        path: "/inspect/stately",
        watched: stately,
        switchOn: 'set the option "inspect" to "stately"',
        html: () => page("stately"),
        frames: "https://stately.ai",
      },
    ],
    watch: async (option, directory, log) => {
      try {
        if (option === false) return undefined;
        if (option === "stately") return { ...(await stately.watch()), path: "/inspect/stately" };
        return { ...inspection.watch(directory), path: "/inspect" };
      } catch (error) {
        log.error("the charts cannot be watched", { reason: errorMessage(error) });
        return undefined;
      }
    },
  };
};
