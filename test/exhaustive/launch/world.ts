import type { LaunchEffect } from "../../../src/machines/launch/events.ts";

/*
 * The world of two processes in which launches of one parent's turn are prepared, as plain numbers: where the charts are, what is
 * stored, what OpenCode was asked, and what it has.
 */

/** What a process waits for, of one of its charts. */
export interface Operation {
  type: LaunchEffect["type"];
  /** How far it has come: `asked` at first, or `listing` where it is not known what is to be deleted. */
  stage: string;
  /** What is stored of the launch that it is about. */
  row: number;
  /** No session can appear any more. */
  isFinal: boolean;
  /** The sessions to be deleted; null while none is known. */
  sessions: readonly number[] | null;
  /** How many of them are done with. */
  done: number;
}

/** A process of OpenCode. One that dies is followed by another one in its place, which has nothing yet. */
export interface Process {
  /** It has stood still for so long that its work is free. */
  isStale: boolean;
  /** Its charts, by number: those of the launches, then one for each stored launch that was left. */
  charts: number[];
  /** What it waits for, of each of them, by number. */
  operations: number[];
}

export const [NO_CHART, NO_OPERATION] = [0, 0];

/**
 * Who has what is stored of a launch: nothing is stored, a process that has died, a plugin that was disposed of while its process
 * may live, or the process `owner - FIRST`.
 */
export const [NO_ROW, OF_DEAD, OF_CLOSED, FIRST] = [0, 1, 2, 3] as const;

export interface Row {
  owner: number;
  /** Its owner has given up the search, and leaves it to the next process. */
  isLeft: boolean;
}

export const SESSION_STAGES = ["none", "growing", "there", "gone"] as const;

export interface Session {
  /** It was not created, is being copied, is whole, or was deleted. */
  stage: (typeof SESSION_STAGES)[number];
  isMarked: boolean;
  isCut: boolean;
  hasPreamble: boolean;
  /** Whose request to delete it is still on its way, though nobody waits for an answer: the number of the process and 1, or 0. */
  isDyingBy: number;
  /** The launch that has taken this copy to delete it: the number of what is stored of that launch and 1, or 0. */
  isOf: number;
}

export const CALL_STAGES = ["open", "answered"] as const;
export const WORKTREE_STAGES = ["none", "there", "gone"] as const;

export interface Launched {
  /** The call that launches waits, or was answered, or is gone with its process. */
  call: (typeof CALL_STAGES)[number];
  /** The session of the task that is stored, and 1; 0 for none. */
  task: number;
  worktree: (typeof WORKTREE_STAGES)[number];
  /** Who made its worktree could not remove it: it is left to the sweep. */
  isSwept: boolean;
  /** It was decided that the fleet is offered the task. */
  isOffered: boolean;
}

export const PARENT_STAGES = ["there", "deleted", "known"] as const;

/** What goes wrong in a turn. All else is seen in the world after it. */
export const WRONGS = [
  "",
  "the caller is answered twice",
  "the caller is told of a task that there is not",
  "the caller is told that nothing was launched, though a task was",
  "two tasks begin for one launch",
  "a task begins whose caller was told that there is none",
  "a task begins in a session that is not there",
  "a task begins in a session that is not prepared",
  "a task begins without its worktree",
  "a task is offered to the fleet against its word",
] as const;
export type Wrong = (typeof WRONGS)[number];

export interface World {
  processes: Process[];
  /** What is stored: two for each launch, for its first session and for one that gets the conversation as a text. */
  rows: Row[];
  /** The session that each of these is for. */
  sessions: Session[];
  /** Whose request for it may still be done: the number of the process and 1, or 0. */
  requests: number[];
  launches: Launched[];
  isAborted: boolean;
  /** The parent is there, was deleted, or was deleted and the first process has heard it. */
  parent: (typeof PARENT_STAGES)[number];
  wrong: Wrong;
}

export const launchOf = (row: number): number => row >> 1;
export const messageOf = (row: number): string => `msg_${row}`;
export const rowOf = ({ messageID }: { messageID: string }): number => Number(messageID.slice("msg_".length));
export const sessionIdOf = (row: number): string => `ses_${row}`;
export const sessionOf = (sessionID: string): number => Number(sessionID.slice("ses_".length));

export const emptyProcess = (slots: number): Process => ({
  isStale: false,
  charts: Array.from({ length: slots }, () => NO_CHART),
  operations: Array.from({ length: slots }, () => NO_OPERATION),
});

export const emptyWorld = (launches: number): World => {
  const rows = Array.from({ length: 2 * launches });
  return {
    processes: [emptyProcess(3 * launches), emptyProcess(3 * launches)],
    rows: rows.map(() => ({ owner: NO_ROW, isLeft: false })),
    sessions: rows.map(() => ({
      ...{ stage: "none", isMarked: false, isCut: false, hasPreamble: false, isDyingBy: 0, isOf: 0 },
    })),
    requests: rows.map(() => 0),
    launches: Array.from({ length: launches }, () => ({
      ...{ call: "open", task: 0, worktree: "none", isSwept: false, isOffered: false },
    })),
    ...{ isAborted: false, parent: "there", wrong: "" },
  };
};

/** A copy whose parts may be changed. */
export const clone = (world: World): World => ({
  processes: world.processes.map(({ isStale, charts, operations }) => ({
    ...{ isStale, charts: charts.slice(), operations: operations.slice() },
  })),
  rows: world.rows.map(({ owner, isLeft }) => ({ owner, isLeft })),
  sessions: world.sessions.map((session) => ({ ...session })),
  requests: world.requests.slice(),
  launches: world.launches.map((launch) => ({ ...launch })),
  isAborted: world.isAborted,
  parent: world.parent,
  wrong: world.wrong,
});

export const part = <T>(parts: readonly T[], index: number): T => {
  const found = parts[index];
  if (found === undefined) throw new Error(`there is no part ${index} of ${parts.length}`);
  return found;
};
