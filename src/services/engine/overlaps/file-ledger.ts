/** What an agent did with a file. */
export type FileUse = "read" | "wrote";

/** A use of a file by another agent: a write, where it both read and wrote the file. */
export interface OtherUse {
  sessionID: string;
  did: FileUse;
  /** When it last used the file, epoch milliseconds. */
  at: number;
}

/**
 * Creates a ledger of which sessions have used which files. It grows by one small entry for each file that a session uses, until
 * that is forgotten.
 */
export const createFileLedger = () => {
  const uses = new Map<string, Map<string, Omit<OtherUse, "sessionID">>>();
  const lastWrites = new Map<string, { sessionID: string; at: number }>();

  return {
    /** Notes that a session used a file at `at`, epoch milliseconds. */
    note: (sessionID: string, path: string, did: FileUse, at: number) => {
      const own = uses.get(sessionID) ?? new Map<string, Omit<OtherUse, "sessionID">>();
      uses.set(sessionID, own);
      own.set(path, { did: own.get(path)?.did === "wrote" ? "wrote" : did, at });
      if (did === "wrote") lastWrites.set(path, { sessionID, at });
    },
    /** Returns what the other sessions did with a file. */
    othersOf: (sessionID: string, path: string): OtherUse[] =>
      [...uses].flatMap(([other, files]) => {
        const use = other === sessionID ? undefined : files.get(path);
        return use ? { sessionID: other, ...use } : [];
      }),
    /** True if another session's tool was the last one that wrote a file, at `since` or later. It may be forgotten since. */
    wasWrittenByOther: (sessionID: string, path: string, since: number): boolean => {
      const last = lastWrites.get(path);
      return last !== undefined && last.sessionID !== sessionID && last.at >= since;
    },
    /** Forgets what a session did, but for its being the last to write a file. */
    forget: (sessionID: string) => void uses.delete(sessionID),
    /** Forgets everything. */
    clear: () => {
      uses.clear();
      lastWrites.clear();
    },
  };
};
