import type { Options } from "../../src/options.ts";
import { createLiveCharts } from "../../src/services/http/status-api.ts";
import { systemClock } from "../../src/services/platform/clock.ts";
import { serve } from "../fakes/served.ts";
import { createStage, type Stage } from "../fakes/stage.ts";
import { occupy } from "../services/http/ports.ts";
import { builtPage } from "./board-stage.ts";

/** The whole plugin on a fake host, with its board and its live view served over a real socket. */
export interface LiveStage {
  stage: Stage;
  url: string;
  stop(): Promise<void>;
}

/** Starts it with this value of the option `inspect`, by default on a free port. */
export const liveStage = async (inspect: Options["inspect"], port?: number, folder?: string): Promise<LiveStage> => {
  const charts = createLiveCharts(systemClock, builtPage);
  const log = { info: () => undefined, error: (message: string, extra: unknown) => console.error(message, extra) };
  const recording = await charts.record(inspect, "/home/me/project", log);
  const stage = createStage(recording ? { inspect: recording.inspect } : {});
  const { url, stop } = await serve(stage, {
    pages: charts.pages,
    documents: { board: () => builtPage("board"), reference: () => builtPage("reference") },
    port: port ?? (await occupy(0)),
    ...(folder === undefined ? {} : { folder }),
  });
  return {
    stage,
    url,
    stop: async () => {
      stage.engine.stop();
      recording?.end();
      await stop();
    },
  };
};
