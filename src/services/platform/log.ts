/** Where the plugin says what a person may need to know later. Never throws. */
export interface Log {
  info(message: string, extra?: Record<string, unknown>): void;
  error(message: string, extra?: Record<string, unknown>): void;
}

/** What was thrown, in words. */
export const errorMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error));
