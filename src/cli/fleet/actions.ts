// What the command loads of a fleet, in one file: the bundler makes one of it, and leaves the others as they are.
export { drainServer } from "./drain.ts";
export { initFleet } from "./init.ts";
export { limitFleet } from "./limit.ts";
export { showFleet } from "./status.ts";
