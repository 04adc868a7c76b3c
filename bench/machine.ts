import { availableParallelism, loadavg } from "node:os";

/** The class of this machine, without anything that tells which one it is. */
export const machineClass = (cores = availableParallelism()): string => `${cores} ${cores === 1 ? "core" : "cores"}`;

/**
 * The day, the class of the machine, and how many threads wanted to work on it in the minute before: what tables say of
 * when and on what they were measured. Asked right before the measurement.
 */
export const measuredOn = (at = new Date(), load = loadavg()[0] ?? 0): string =>
  `${at.toISOString().slice(0, 10)}, ${machineClass()}, load ${load.toFixed(1)}`;
