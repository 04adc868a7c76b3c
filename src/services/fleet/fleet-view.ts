import type { FleetServer } from "../../task.ts";
import type { Clock } from "../platform/clock.ts";
import { truncateLine } from "../platform/plain-text.ts";
import { type Broker, MOST_PRESENT } from "./broker.ts";
import type { Presence } from "./questions.ts";

/** A project whose jobs a server takes. */
export type ServedProject = Pick<Presence, "pool" | "project" | "slots" | "atWork" | "version">;

/** Compares by what is shown: answers come in any order. */
export const by =
  <T>(shown: (one: T) => string) =>
  (one: T, other: T): number =>
    shown(one) < shown(other) ? -1 : 1;

/** Returns the projects of one server, by the answers of its processes. Two that serve the same project count together. */
export const servedProjects = (presences: readonly Presence[]): ServedProject[] =>
  [...Map.groupBy(presences, ({ pool }) => pool).values()]
    .flatMap((same) => {
      const [first] = same;
      if (!first) return [];
      const { pool, project, version } = first;
      const sum = (count: "slots" | "atWork") => same.reduce((all, one) => all + one[count], 0);
      return [{ pool, project, slots: sum("slots"), atWork: sum("atWork"), version }];
    })
    .toSorted(by(({ project, pool }) => `${project} ${pool}`));

/** True for a drained server, one that takes no more jobs. It may be named by its id, or by what people know it by. */
export const isDrainedIn = (
  drained: readonly string[],
  { id, label }: { id: string; label?: string | undefined },
): boolean => drained.includes(id) || (label !== undefined && drained.includes(label));

/** Milliseconds for which a view is kept, so that pages which look often are no burden for the fleet. */
const KEPT_FOR = 5_000;

/** The same after a refusal, which lasts until somebody changes the rights. Each refusal is an error in the log. */
const REFUSAL_KEPT_FOR = 600_000;

/** The longest text of another server that is shown, in characters: anybody in the account may write anything. */
const MOST_CHARACTERS = 200;

/** A worker, as it describes itself. Its texts are one line of at most 200 characters and `…`. */
interface PresentServer extends FleetServer {
  /** True where it takes no more jobs; absent where that could not be read. */
  isDrained?: boolean;
  projects: Omit<ServedProject, "pool">[];
}

/** What a server sees of its fleet. */
export interface FleetView {
  /** This server. */
  own: FleetServer;
  /** False while the broker does not answer. */
  isReached: boolean;
  /** Why the workers could not be asked whether they are present; absent where they were. */
  problem?: string;
  /** The workers that are present, by their labels. */
  servers: PresentServer[];
  /** True where more may be present: no more answers than `MOST_PRESENT` are read. */
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
          ...(drained ? { isDrained: isDrainedIn(drained, server) } : {}),
          projects: servedProjects(said).map(({ project, slots, atWork, version }) => ({
            ...{ project: shown(project), slots, atWork, version: shown(version) },
          })),
        },
      ];
    })
    .toSorted(by(({ label, id }) => `${label} ${id}`));

/** Creates a function that asks a fleet which servers it has, at most once in 5 s however often it is called. */
export const createFleetView = (
  broker: Pick<Broker, "presences" | "limits">,
  own: FleetServer,
  clock: Clock,
): (() => Promise<FleetView>) => {
  let kept: { view: Promise<FleetView>; until: number } | undefined;

  const read = async (): Promise<FleetView> => {
    const [said, limits] = await Promise.all([broker.presences(), broker.limits()]);
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
