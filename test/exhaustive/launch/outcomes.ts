import type { LaunchEvent } from "../../../src/machines/launch/events.ts";
import { AT } from "../charts.ts";
import type { LaunchTurn } from "./process.ts";
import type { Operation, World } from "./world.ts";

/** What may become of something that a process waits for. */
export interface Outcome {
  name: string;
  work(turn: LaunchTurn): void;
  /** Default: it is. */
  isExpected?: boolean;
  /** It happens in OpenCode, also while the process stands still. Default: the process hears of something. */
  isInHost?: boolean;
}

/** Something that a process waits for. */
export interface Waiting {
  /** The name of the process. */
  who: string;
  p: number;
  slot: number;
  operation: Operation;
  /** Nobody waits for the launch any more. */
  isLeftBehind: boolean;
  before: World;
}

export const reason = "BadRequest: no";

export const when = (is: boolean, ...outcomes: Outcome[]): Outcome[] => (is ? outcomes : []);

/** The process hears of something. */
export const hears = ({ who, slot }: Waiting, what: string, event: LaunchEvent, isExpected = true): Outcome => ({
  ...{ name: `${who} ${what}`, isExpected },
  work: (turn) => turn.answer(slot, event),
});

/** A service of ours throws. */
export const throws = (waiting: Waiting): Outcome =>
  hears(waiting, "has a fault", { type: "FAULT", at: AT, reason: "" }, false);

/** Something happens in OpenCode, by which the call of the process comes to another stage. */
export const inHost = (
  { slot, operation }: Waiting,
  name: string,
  stage: string,
  { isExpected = true, change }: { isExpected?: boolean; change?: (world: World) => void } = {},
): Outcome => ({
  ...{ name, isExpected, isInHost: true },
  work: (turn) => {
    change?.(turn.world);
    turn.post(slot, { ...operation, stage });
  },
});
