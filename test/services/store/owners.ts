import type { Owner } from "../../../src/services/store/ownership.ts";

/** A process as an owner. The pid is one that lives, unless it is given. */
export const ownerOf = (id: string, given: Partial<Owner> = {}): Owner => ({
  id,
  pid: process.pid,
  machine: "here",
  startedAt: 1,
  directory: "/project",
  database: "opencode.db",
  ...given,
});
