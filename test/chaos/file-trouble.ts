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
