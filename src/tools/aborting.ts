import type { Launched } from "../services/launches.ts";
import type { LaunchRequest } from "../services/launching.ts";
import type { Outcome } from "../services/outcome.ts";
import type { ToolParts } from "./context.ts";

/** What the work comes to; undefined as soon as the signal is aborted, whatever the host is doing about the work. */
const untilAborted = <T>(signal: AbortSignal, work: Promise<T>): Promise<T | undefined> =>
  new Promise((resolve, reject) => {
    const abort = () => resolve(undefined);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });

/** Launches a task; undefined when the turn was aborted before that was done: then nothing is left of it. */
export const launchUnlessAborted = async (
  engine: ToolParts["engine"],
  request: LaunchRequest,
): Promise<Outcome<Launched> | undefined> => {
  const launch = engine.launch(request);
  const launched = await untilAborted(request.signal, launch);
  if (launched) return launched;
  // It is undone by itself, unless the abort came when it was just done.
  launch.then((late) => late.ok && engine.cancelUntold(late.value.task.sessionID)).catch(() => undefined);
  return undefined;
};
