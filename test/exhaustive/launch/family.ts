import type { launchMachine } from "../../../src/machines/launch/machine.ts";
import { launchOf } from "./world.ts";

/** What is launched: by default a task that begins with an empty session, in no worktree, on this server. */
export interface LaunchKind {
  isFork?: boolean;
  needsWorktree?: boolean;
  asksFleet?: boolean;
}

/** Which launches there are, all of one turn in the first process, and what can happen besides that they succeed. */
export interface LaunchFamily {
  launches: readonly LaunchKind[];
  /** Processes die, and are followed by others, at any time and between any two things that they store. */
  dies?: boolean;
  /** The plugin is disposed of, and loaded anew, in an OpenCode that lives on. */
  closes?: boolean;
  /** Processes stand still for so long that the other one takes over what is free, and then go on. */
  standsStill?: boolean;
  /** OpenCode does not say whether it has created a session, and may do it later. */
  isUnconfirmed?: boolean;
  /** All other calls to OpenCode fail, whether they have arrived or not. */
  isUnreliable?: boolean;
  /** OpenCode, git and the fleet refuse what they are asked, and services of ours throw. */
  refuses?: boolean;
  /** The conversation cannot be read, so that no copy is replaced by a text. */
  isUnreadable?: boolean;
  /** The calling turn is aborted. */
  aborts?: boolean;
  /** The parent is deleted. */
  deletes?: boolean;
  /** A chart with a mistake in it. */
  machine?: typeof launchMachine;
  /** A mistake in what is done around the chart. */
  mistake?: LaunchMistake;
}

/** Mistakes around the chart, of which the exploration is to find each. */
export type LaunchMistake =
  | "a launch is stored after its session was created"
  | "what is stored of a launch ends before its session is deleted"
  | "what is stored of a launch ends before its task is stored"
  | "a launch that was given up is forgotten where its session is not there yet"
  | "a launch is taken over from a process that only stands still"
  | "a launch is taken over while its OpenCode may still create the session"
  | "what a dead process left is not deleted"
  | "a copy without a mark is not looked for"
  | "a copy that another launch has just made counts as left"
  | "two launches take the same copy for theirs"
  | "a copy that could not be deleted is left to nobody";

/** True for what is stored of a copy: that is the first of a fork. */
export const isOfCopy = ({ launches }: LaunchFamily, row: number): boolean =>
  row % 2 === 0 && launches[launchOf(row)]?.isFork === true;
