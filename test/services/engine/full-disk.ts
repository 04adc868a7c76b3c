/** What the story on a full disk begins with: no task database; one that was closed; or one whose process was killed. */
export type Begun = "nothing" | "closed" | "killed";

/** How much more there is room for. */
export type Room = { bytes: number } | { files: number };

/** What came of the story. */
export interface Told {
  room: Room;
  /** How often the end of each task had been delivered when there was room again, and after the next start. */
  full: number[];
  after: number[];
  /** The status of each task in the file that the next process read. */
  stored: string[];
  /** What the log says. */
  said: string[];
}
