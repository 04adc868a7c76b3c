/** What happens to a file that several processes have open. */
export interface FileTrouble {
  /**
   * Another program takes the write lock before the transaction with this number from now, and keeps it for so many
   * milliseconds. Does nothing while there is trouble already.
   */
  lock(afterTransactions: number, ms: number): void;
  /** For so many milliseconds, the file cannot grow: the disk is full. */
  fill(ms: number): void;
  /** Another program writes the whole log into the file, and has it begin anew. */
  checkpoint(): void;
  /** Ends all trouble. */
  end(): void;
  /** True while a process may have changes that the file lacks. */
  isUnderWay(): boolean;
  /** When the last trouble was over, and its changes were written; epoch milliseconds. */
  overAt(): number;
  /** The number of prompts to parents that are stored. */
  prompts(): number;
}

/** What must have occurred to a file that processes share, and to their clocks, see `sometimes.ts`. */
export const FILE_SITUATIONS = [
  "a process meets a locked file",
  "the file is locked between two transactions of one step",
  "the disk is full in the middle of a transaction",
  "a process starts while the file cannot be used",
  "a record is read again, for another process has written",
  "another program begins the log anew",
  "the clock is set back while a task is at work",
  "the clock is set back while a notice is on its way",
  "a process takes over from one whose clock is ahead by more than a lease",
  "a process takes over from one whose clock is behind by more than a lease",
] as const;

export type FileSituation = (typeof FILE_SITUATIONS)[number];
