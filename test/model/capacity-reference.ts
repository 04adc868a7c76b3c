/*
 * Who may hold a slot, and who is next, as the specification says it and without the code that decides it: a launch beyond
 * the limits waits; the order is priority, then age; a slot lives as long as the task works; a task that waits for a
 * person, or for its own tasks, gives it up and takes it again; nothing starts on a provider that refuses a task for now,
 * until that one is answered or has had a moment to be.
 */

/** What a task is, as far as limits ask. */
export interface Kind {
  provider: string | undefined;
  /** "provider/model". */
  model?: string | undefined;
  agent: string;
  priority: number;
  /** It was at work, and goes on with another model: it is not kept waiting because a provider refuses others. */
  goesOn?: boolean;
  /** The task that launches it; undefined for one that a person's session launches. */
  parent?: string;
}

/** How many tasks may work at once: all of them, and those of one provider, model or agent. */
export interface Limits {
  total: number;
  providers?: Record<string, number>;
  models?: Record<string, number>;
  agents?: Record<string, number>;
}

/** What is known of a task from its launch on. `since`: when its newest run was wanted. */
export interface Known {
  phase: "queued" | "working" | "refused" | "ended";
  since: number;
  asksPerson: boolean;
  /** Its own tasks that a tool call of it waits for. */
  blockedBy: readonly string[];
  /** Its turn has ended, and it waits for any of its own tasks. */
  awaitsOwn: boolean;
  /** Until when it goes ahead of all others of its provider, which has refused it; 0 where it was not, or was answered. */
  refusedUntil: number;
}

/** All launched tasks, by name. */
export type Reference = Readonly<Record<string, Known>>;

export const queued = (since: number): Known => ({
  phase: "queued",
  since,
  asksPerson: false,
  blockedBy: [],
  awaitsOwn: false,
  refusedUntil: 0,
});

/** True for a task that works, and waits for nobody. */
export const holds = ({ phase, asksPerson, blockedBy, awaitsOwn }: Known): boolean =>
  phase === "working" && !asksPerson && blockedBy.length === 0 && !awaitsOwn;

/** The task has ended. The one that launched it goes on, if that is what it waited for. */
export const ended = (reference: Reference, name: string, kinds: Record<string, Kind>): Reference => {
  const own = reference[name];
  const parentName = kinds[name]?.parent;
  const parent = parentName === undefined ? undefined : reference[parentName];
  return {
    ...reference,
    ...(own ? { [name]: { ...queued(own.since), phase: "ended" as const } } : {}),
    ...(parent && parentName !== undefined
      ? {
          [parentName]: {
            ...parent,
            awaitsOwn: false,
            blockedBy: parent.blockedBy.filter((awaited) => awaited !== name),
          },
        }
      : {}),
  };
};

/** Each limit as a test of whom it concerns, with its number. */
const limitsOf = ({
  total,
  providers = {},
  models = {},
  agents = {},
}: Limits): { concerns(kind: Kind): boolean; limit: number }[] => [
  { concerns: () => true, limit: total },
  ...Object.entries(providers).map(([name, limit]) => ({ concerns: (kind: Kind) => kind.provider === name, limit })),
  ...Object.entries(models).map(([name, limit]) => ({ concerns: (kind: Kind) => kind.model === name, limit })),
  ...Object.entries(agents).map(([name, limit]) => ({ concerns: (kind: Kind) => kind.agent === name, limit })),
];

/** Says of each limit how many hold a slot under it. */
export const usage = (reference: Reference, kinds: Record<string, Kind>, limits: Limits) =>
  limitsOf(limits).map(({ concerns, limit }) => {
    const used = Object.entries(reference).filter(([name, known]) => {
      const kind = kinds[name];
      return kind && holds(known) && concerns(kind);
    }).length;
    return { used, limit };
  });

/** The tasks that start when the queue is served, in their order. */
export const starters = (
  reference: Reference,
  kinds: Record<string, Kind>,
  limits: Limits,
  now: number,
): readonly string[] => {
  const isRefused = (provider: string | undefined) =>
    provider !== undefined &&
    Object.entries(reference).some(
      ([name, known]) =>
        kinds[name]?.provider === provider && (holds(known) || known.phase === "refused") && known.refusedUntil > now,
    );
  const waiting = Object.entries(reference).flatMap(([name, known]) => {
    const kind = kinds[name];
    return kind && known.phase === "queued" ? [{ name, kind, since: known.since }] : [];
  });
  const inOrder = waiting.toSorted((one, other) =>
    one.kind.priority === other.kind.priority ? one.since - other.since : other.kind.priority - one.kind.priority,
  );
  let after = reference;
  const started: string[] = [];
  for (const { name, kind } of inOrder) {
    const known = after[name];
    const hasRoom = limitsOf(limits).every(({ concerns, limit }) => {
      const holders = Object.entries(after).filter(([other, state]) => {
        const of = kinds[other];
        return of && holds(state) && concerns(of);
      });
      return !concerns(kind) || holders.length < limit;
    });
    if (!known || !hasRoom || (!kind.goesOn && isRefused(kind.provider))) continue;
    after = { ...after, [name]: { ...known, phase: "working" } };
    started.push(name);
  }
  return started;
};
