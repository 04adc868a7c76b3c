import { availableParallelism } from "node:os";

/** The class of this machine, without anything that tells which one it is. */
export const machineClass = (cores = availableParallelism()): string => `${cores} ${cores === 1 ? "core" : "cores"}`;

/** The day and the class of the machine, as tables say when and on what they were measured. */
export const measuredOn = (at = new Date()): string => `${at.toISOString().slice(0, 10)}, ${machineClass()}`;
