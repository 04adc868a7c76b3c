/** The log that users read when something went wrong. Its functions never throw. */
export interface Log {
  info(message: string, extra?: Record<string, unknown>): void;
  error(message: string, extra?: Record<string, unknown>): void;
}

/** Returns the message of a thrown value, whatever was thrown. */
export const errorMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Returns a function that logs what was thrown, with that message and what it is about. */
export const logFault =
  (log: Pick<Log, "error">, message: string, about: object = {}) =>
  (error: unknown): undefined => {
    log.error(message, { ...about, reason: errorMessage(error) });
  };
