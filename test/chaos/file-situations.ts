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
