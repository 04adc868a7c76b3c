// What the command loads of a fleet, in one file: the bundler makes one of it, and leaves the others as they are.

export { drainServer, limitFleet } from "./fleet-limits.ts";
export { initFleet } from "./init.ts";
export { showFleet } from "./status.ts";
