import { AsyncLocalStorage } from "node:async_hooks";

const running = new AsyncLocalStorage<AbortSignal>();

/** Runs a test. The signal is aborted when it is at its time limit. */
export const runAs = (signal: AbortSignal, test: () => Promise<void>): Promise<void> => running.run(signal, test);

/**
 * Throws when the test that calls it was ended at its time limit. Vitest goes on to the next test then, and cannot stop the code
 * of this one, which would act in the middle of others.
 */
export const refuseEndedTest = (): void => running.getStore()?.throwIfAborted();
