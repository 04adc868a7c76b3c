import type { FleetServer } from "../../task.ts";
import type { Clock } from "../platform/clock.ts";
import { truncateLine } from "../platform/plain-text.ts";
import { type Bus, MOST_PRESENT } from "./bus.ts";
import type { Presence } from "./questions.ts";
import { by, isAmong, type ServedProject, servedProjects } from "./served-projects.ts";

/** Milliseconds for which what a fleet said is not asked for again: pages that look often are to be no burden for it. */
const KEPT_FOR = 5_000;

/** The same after a refusal, which lasts until somebody changes the rights. Each one is an error in the log. */
const REFUSAL_KEPT_FOR = 600_000;

/** The longest text of another server that is shown, in characters: anybody in the account may write anything. */
const MOST_CHARACTERS = 200;

/** A server that works for others, as it says itself. Its texts are one line of at most 200 characters and `…`. */
export interface PresentServer extends FleetServer {
  /** True where it is to take no more orders; absent where that could not be read. */
  isDrained?: boolean;
  projects: Omit<ServedProject, "pool">[];
}

/** What a server sees of its fleet. */
export interface FleetView {
  /** This server. */
  own: FleetServer;
  /** False while the engine of the fleet does not answer. */
  isReached: boolean;
  /** Why the servers could not be asked who is there; absent where they were. */
  problem?: string;
  /** Those that say that they are there, by their labels. */
  servers: PresentServer[];
  /** True where more may be there: no more answers than `MOST_PRESENT` are read. */
  isCut: boolean;
}

const shown = (text: string): string => truncateLine(text, MOST_CHARACTERS);

const presentServers = (presences: readonly Presence[], drained: readonly string[] | undefined): PresentServer[] =>
  [...Map.groupBy(presences, ({ server }) => server.id).values()]
    .flatMap((said): PresentServer[] => {
      const server = said[0]?.server;
      if (!server) return [];
      return [
        {
          id: shown(server.id),
          label: shown(server.label),
          ...(drained ? { isDrained: isAmong(drained, server) } : {}),
          projects: servedProjects(said).map(({ project, slots, atWork, version }) => ({
            ...{ project: shown(project), slots, atWork, version: shown(version) },
          })),
        },
      ];
    })
    .toSorted(by(({ label, id }) => `${label} ${id}`));

/** Creates a function that asks a fleet which servers it has, at most once in 5 s however often it is called. */
export const createFleetView = (
  bus: Pick<Bus, "presences" | "limits">,
  own: FleetServer,
  clock: Clock,
): (() => Promise<FleetView>) => {
  let kept: { view: Promise<FleetView>; until: number } | undefined;

  const read = async (): Promise<FleetView> => {
    const [said, limits] = await Promise.all([bus.presences(), bus.limits()]);
    if (said.is !== "read") {
      if (kept && said.is === "refused") kept.until = clock.now() + REFUSAL_KEPT_FOR;
      const problem = shown(said.message);
      return { own, isReached: said.is === "refused", problem, servers: [], isCut: false };
    }
    const drained = limits.is === "read" ? limits.drained : undefined;
    const isCut = said.presences.length >= MOST_PRESENT;
    return { own, isReached: true, servers: presentServers(said.presences, drained), isCut };
  };

  return () => {
    if (!kept || clock.now() >= kept.until) kept = { view: read(), until: clock.now() + KEPT_FOR };
    return kept.view;
  };
};
