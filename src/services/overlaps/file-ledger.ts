/** What an agent did with a file. */
export type FileUse = "read" | "wrote";

/** A use of a file by another agent: a write, where it both read and wrote the file. */
export interface OtherUse {
  sessionID: string;
  did: FileUse;
  /** When it last used the file, epoch milliseconds. */
  at: number;
}

/** Remembers which sessions have used which files. */
export interface FileLedger {
  /** Notes that a session used a file at `at`, epoch milliseconds. */
  note(sessionID: string, path: string, did: FileUse, at: number): void;
  /** Returns what the other sessions did with a file. */
  othersOf(sessionID: string, path: string): OtherUse[];
  /** Forgets what a session did. */
  forget(sessionID: string): void;
}

/** Creates a ledger without entries. It grows by one small entry for each file that a session uses, until that is forgotten. */
export const createFileLedger = (): FileLedger => {
  const files = new Map<string, Map<string, OtherUse>>();

  return {
    note: (sessionID, path, did, at) => {
      const uses = files.get(path) ?? new Map<string, OtherUse>();
      const hasWritten = did === "wrote" || uses.get(sessionID)?.did === "wrote";
      uses.set(sessionID, { sessionID, did: hasWritten ? "wrote" : "read", at });
      files.set(path, uses);
    },
    othersOf: (sessionID, path) => [...(files.get(path)?.values() ?? [])].filter((use) => use.sessionID !== sessionID),
    forget: (sessionID) => {
      for (const [path, uses] of files) if (uses.delete(sessionID) && uses.size === 0) files.delete(path);
    },
  };
};
