import { statePaths } from "../../../machines/chart.ts";
import { launchMachine } from "../../../machines/launch/machine.ts";
import { movesOf } from "../../../machines/moves.ts";
import { NO_WAY, type Way, wayOf } from "../../../machines/way.ts";
import type { EngineContext } from "../context.ts";
import { refusalText } from "./start-task.ts";

/** A launch that this engine carries out, or of which it removes what is left. */
export interface LaunchHere {
  /** The id of the first prompt, by which the log names it, too. */
  id: string;
  parentSessionID: string;
  directory: string;
  /** Absent once the call is answered. */
  description?: string;
  agent?: string;
  /** The innermost states that its chart is in, and since when, ISO 8601; absent where that is not known. */
  states: string[];
  since?: string;
  way: Way;
  /** Why nothing is launched; absent as long as something may be. */
  refusal?: string;
}

/** Returns the launches that are under way, or remove what they have left. */
export const launchesHere = ({ runtime, launches, directory }: EngineContext): LaunchHere[] =>
  runtime.launches().map(({ snapshot: { value, context }, journal }) => {
    const { id, parentSessionID, pending, refusal } = context;
    const call = launches.find(id);
    const moves = journal && movesOf(launchMachine, { ...journal.input, id, parentSessionID }, journal.events);
    const since = journal?.events.at(-1)?.at ?? call?.at ?? pending?.at;
    return {
      ...{ id: pending?.messageID ?? id, parentSessionID, directory },
      ...(call ? { description: call.plan.description, agent: call.request.agent } : {}),
      ...{ states: statePaths(value), way: moves ? wayOf(moves) : NO_WAY },
      ...(since === undefined ? {} : { since: new Date(since).toISOString() }),
      ...(refusal ? { refusal: refusalText(refusal) } : {}),
    };
  });
