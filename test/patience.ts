/**
 * Milliseconds that a test waits for something that usually comes within a few seconds. It ends what hangs, not what is slow: on a
 * machine whose cores all have other work, everything takes several times as long.
 */
export const PATIENCE_MS = 120_000;
