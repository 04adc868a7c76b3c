import type { Options } from "../../options.ts";
import { createRecorder, createStatelyRecorder, type Recording } from "../inspection/recorders.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { LivePage } from "./live.ts";

/** The recording of a directory, and the path of the page that shows it. */
export interface LiveRecording extends Recording {
  path: LivePage["path"];
}

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
    /** Starts to record a directory as its option `inspect` says. Returns undefined when the option is off. */
    record: (option: Options["inspect"], directory: string, log: Log): LiveRecording | undefined => {
      if (option === false) return undefined;
      if (option === "stately") return { ...stately.record(log), path: "/inspect/stately" };
      return { ...recorder.record(directory), path: "/inspect" };
    },
  };
};
