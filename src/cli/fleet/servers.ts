import type { FleetOverview } from "../../services/fleet/nats/overview.ts";
import type { Presence } from "../../services/fleet/questions.ts";
import { by, isAmong, type ServedProject, servedProjects } from "../../services/fleet/served-projects.ts";

/** A server that works for others. */
export interface ServerStatus {
  id: string;
  /** Absent where neither it nor a log says it. */
  label?: string;
  /** How many runs it holds. */
  runs: number;
  /** False where it holds runs and says nothing; absent where the servers could not be asked. */
  isAnswering?: boolean;
  /** True where it is to take no more orders. */
  isDrained: boolean;
  /** As it says itself. */
  projects: ServedProject[];
}

/**
 * Returns the servers that say that they are there, and those that hold runs.
 * @param presences what they said; undefined where they could not be asked
 */
export const serversOf = (
  { servers, drained = [] }: Pick<FleetOverview, "servers" | "drained">,
  presences: readonly Presence[] | undefined,
): ServerStatus[] => {
  const byId = Map.groupBy(presences ?? [], ({ server }) => server.id);
  const ids = new Set([...byId.keys(), ...servers.map(({ id }) => id)]);
  const all = [...ids].map((id): ServerStatus => {
    const said = byId.get(id) ?? [];
    const holding = servers.find((server) => server.id === id);
    const label = said[0]?.server.label ?? holding?.label;
    return {
      id,
      ...(label === undefined ? {} : { label }),
      runs: holding?.runs ?? 0,
      ...(presences ? { isAnswering: said.length > 0 } : {}),
      isDrained: isAmong(drained, { id, label }),
      projects: servedProjects(said),
    };
  });
  return all.toSorted(by(({ id, label = id }) => `${label} ${id}`));
};
