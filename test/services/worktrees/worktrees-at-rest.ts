import { createWorktrees, type Worktrees } from "../../../src/services/worktrees/worktrees.ts";

/** Tells the time. Nothing here waits for it. */
export const realClock = { now: Date.now, after: () => () => undefined };

/** The worktrees of an engine whose tasks have all ended. */
export const worktreesAtRest = (root: string, setup?: string): Worktrees =>
  createWorktrees({
    options: { root, agents: [], setup, keep: 0 },
    host: { closeDirectory: async () => ({ ok: true, value: undefined }) },
    clock: realClock,
    log: { info: () => undefined, error: () => undefined },
    newId: () => "w1",
    store: { get: () => undefined, live: () => [] },
  });
