// ADR-243 in docs/decisions.md
/**
 * The directories, beside the plugin's own, in which sessions of tasks work: in worktrees. The host says of one directory at
 * a time what is busy and what is asked there.
 */
export interface Workplaces {
  /** Notes that a session works in a directory. */
  enter(sessionID: string, directory: string): void;
  /** Notes that it does not work any more. */
  leave(sessionID: string): void;
  /** The directory of a session at work; undefined for one of the plugin's own directory, and for one that is not known. */
  of(sessionID: string): string | undefined;
  /** All directories in which sessions work, each once. */
  all(): string[];
  /** The sessions at work in a directory. */
  sessionsIn(directory: string): string[];
}

/** Creates an empty register of workplaces. */
export const createWorkplaces = (): Workplaces => {
  const directories = new Map<string, string>();
  return {
    enter: (sessionID, directory) => void directories.set(sessionID, directory),
    leave: (sessionID) => void directories.delete(sessionID),
    of: (sessionID) => directories.get(sessionID),
    all: () => [...new Set(directories.values())],
    sessionsIn: (directory) => [...directories].flatMap(([sessionID, of]) => (of === directory ? sessionID : [])),
  };
};
