import type { Presence } from "./questions.ts";

/** A project whose orders a server takes. */
export type ServedProject = Pick<Presence, "pool" | "project" | "slots" | "atWork" | "version">;

/** Orders by what is shown: answers come in any order. */
export const by =
  <T>(shown: (one: T) => string) =>
  (one: T, other: T): number =>
    shown(one) < shown(other) ? -1 : 1;

/** Returns the projects of one server, by what its processes say. Two that serve the same project count together. */
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

/** True where a server is named among those that are to take no more orders: by its id, or by what people know it by. */
export const isAmong = (
  drained: readonly string[],
  { id, label }: { id: string; label?: string | undefined },
): boolean => drained.includes(id) || (label !== undefined && drained.includes(label));
