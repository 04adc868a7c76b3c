import { basename } from "node:path";
import type { Overlap, Task } from "../../task.ts";
import { join, lines, nameOf, type OwnText, own, quoteLine } from "./own-text.ts";

/** An overlap as an agent reads of it: what another task did, and what the agent itself or a third one did. */
export interface OverlapLine {
  path: string;
  /** The session of the other agent, and what that did. */
  by: string;
  did: Overlap["did"];
  /** What the agent itself did; absent where the overlap is between two others. */
  you?: Overlap["did"];
  also?: { by: string; did: Overlap["did"] };
}

/** Whom a warning is for, and what it names. */
interface Reader {
  /** Returns a task; undefined for a session that is no task's, or whose task was cleared. */
  get(sessionID: string): Pick<Task, "description"> | undefined;
  /** The session whose agent launched the reader; undefined where a person works with it. */
  launcher: string | undefined;
}

const DEEDS = { read: "has read", wrote: "has written" } as const;

const nameOfAgent = (sessionID: string, { get, launcher }: Reader): OwnText => {
  const task = get(sessionID);
  if (task) return own`task ${nameOf(sessionID)} ${quoteLine(task.description)}`;
  return sessionID === launcher ? own`the agent that launched you` : own`the agent of session ${nameOf(sessionID)}`;
};

const sentence = ({ path, you, by, did, also }: OverlapLine, reader: Reader): OwnText => {
  const other = own`${nameOfAgent(by, reader)} ${DEEDS[did]} it`;
  const second = also ? own`${nameOfAgent(also.by, reader)} ${DEEDS[also.did]} it` : own``;
  const yours = you === undefined ? second : own`you ${you === "read" ? own`have read` : own`have written`} it`;
  return own`- ${quoteLine(path)}: ${yours}, ${other}.`;
};

/** Writes the warning that an agent reads with the output of a tool call. */
export const overlapWarning = (overlaps: readonly OverlapLine[], reader: Reader): OwnText =>
  lines(
    "[opencode-taskchart] More than one agent uses these files in the same folder:",
    ...overlaps.map((line) => sentence(line, reader)),
    "Read such a file again before you write it, and keep what the other agent did.",
  );

/** Writes a line for each file that a task shared, and with whom. */
export const overlapLines = (overlaps: readonly Overlap[], caller: string): OwnText[] =>
  overlaps.map(({ path, did, other }) => {
    const who = other.sessionID === caller ? own`the agent that launched it` : nameOf(other.sessionID);
    return own`${quoteLine(path)} (it ${DEEDS[did]} it, ${who} ${DEEDS[other.did]} it)`;
  });

/** Files that one line names; more are counted. */
const FILES = 5;

/**
 * Writes in one line, for the agent that launched a task or for a person, which files the task shared, and with whom;
 * undefined where there are none.
 */
export const overlapSummary = (overlaps: readonly Overlap[] = [], caller: string): OwnText | undefined => {
  if (overlaps.length === 0) return undefined;
  const shown = overlapLines(overlaps.slice(0, FILES), caller);
  const more = overlaps.length > FILES ? own`${overlaps.length - FILES} more` : undefined;
  return own`Files shared with other agents: ${join([...shown, more], ", ")}.`;
};

/** Writes in a few words which file a task shared last, where space is scarce; undefined where it shared none. */
export const sharedFiles = (overlaps: readonly Overlap[] = []): OwnText | undefined => {
  const newest = overlaps.at(-1);
  if (!newest) return undefined;
  const name = own`shares ${quoteLine(basename(newest.path))}`;
  return overlaps.length === 1 ? name : own`${name} and ${overlaps.length - 1} more`;
};
