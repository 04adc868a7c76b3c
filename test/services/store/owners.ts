import { LEASE_MS, type Owner } from "../../../src/services/store/ownership.ts";

/** Creates an owner; default: of a living process, which waits for another one no longer than a lease. */
export const ownerOf = (id: string, given: Partial<Owner> = {}): Owner => ({
  id,
  pid: process.pid,
  machine: "here",
  startedAt: 1,
  directory: "/project",
  database: "opencode.db",
  takesOverAfter: LEASE_MS,
  ...given,
});
