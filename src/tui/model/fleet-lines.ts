import type { ApiFleet } from "../../client/api-types.ts";
import { fleetProblem, fleetSummary } from "../../services/text/fleet.ts";
import { cutText, type Line, warningLines } from "./line.ts";

/** Lines that the reason takes at most why the servers are not known: the list is about tasks. */
const MAX_REASON_LINES = 2;

/**
 * Writes in one line which servers the fleet has and how many tasks wait; below it, why the servers are not known. Nothing
 * where no fleet is used, and where nothing is known of it (`undefined`).
 */
export const fleetLines = (fleet: ApiFleet | undefined, columns: number): Line[] => {
  if (!fleet?.isUsed) return [];
  const summary = fleetSummary(fleet);
  const problem = fleetProblem(fleet);
  return [
    ...(summary === ""
      ? []
      : [{ segments: [{ text: cutText(`Fleet: ${summary}`, columns), tone: "muted" as const }] }]),
    ...warningLines(problem, columns, MAX_REASON_LINES),
  ];
};
