import { describe, expect, test } from "vitest";
import { type LaunchEvent, launchEventWords } from "../../../src/machines/launch/events.ts";
import { launchIn, type Place, stateOf } from "./driven-launch.ts";

type Type = LaunchEvent["type"];

const AWAITING = "givingUp.awaitingAnswer";
const REMOVING = "givingUp.removingSession";
const LOOKING = "preparing.creating.searching.looking";
const STORING = "preparing.creating.informing.storing";
const COPY = "preparing.creating.removingCopy";
const READING = "preparing.creating.readingConversation";
const REQUESTING = "preparing.creating.requesting";

const ALL = Object.keys(launchEventWords) as Type[];

/** What is done where a call is under way. */
const underWay = { CANCEL: AWAITING, CLOSE: "closed" };

/** What each place takes, and the state to which that leads. */
const TAKEN: Record<Exclude<Place, "awaitingAnswer">, { [Event in Type]?: string }> = {
  makingWorktree: { ...underWay, WORKTREE_MADE: "preparing.waiting", WORKTREE_REFUSED: "refused", FAULT: "refused" },
  askingFleet: { ...underWay, FLEET_ANSWERED: "preparing.waiting", FAULT: "refused" },
  waiting: { TURN_TAKEN: REQUESTING, FAULT: "refused", CANCEL: "refused", CLOSE: "closed" },
  requesting: {
    ...{ ...underWay, FAULT: REMOVING },
    ...{ SESSION_CREATED: "starting", CREATION_REFUSED: "refused", CREATION_UNCONFIRMED: LOOKING },
  },
  requestingCopy: {
    ...{ ...underWay, FAULT: REMOVING },
    ...{ SESSION_CREATED: "preparing.creating.cutting", CREATION_REFUSED: READING, CREATION_UNCONFIRMED: COPY },
  },
  requestingText: {
    ...{ ...underWay, FAULT: REMOVING },
    ...{ SESSION_CREATED: STORING, CREATION_REFUSED: "refused", CREATION_UNCONFIRMED: LOOKING },
  },
  looking: {
    ...{ ...underWay, FAULT: REMOVING },
    ...{ SESSION_FOUND: "starting", SESSION_NOT_FOUND: "preparing.creating.searching.pausing" },
  },
  lookingAgain: { TICK: LOOKING, SESSION_FOUND: "starting", FAULT: REMOVING, CANCEL: REMOVING, CLOSE: "closed" },
  lookingForText: {
    ...{ ...underWay, FAULT: REMOVING },
    ...{ SESSION_FOUND: STORING, SESSION_NOT_FOUND: "preparing.creating.searching.pausing" },
  },
  cutting: { ...underWay, COPY_CUT: STORING, PREPARATION_FAILED: COPY, FAULT: REMOVING },
  informing: {
    ...{ ...underWay, FAULT: REMOVING, PREAMBLE_STORED: "starting" },
    ...{ PREAMBLE_NOT_STORED: "preparing.creating.informing.pausing", PREPARATION_FAILED: COPY },
  },
  informingAgain: { TICK: STORING, FAULT: REMOVING, CANCEL: REMOVING, CLOSE: "closed" },
  informingOfText: {
    ...{ ...underWay, FAULT: REMOVING, PREAMBLE_STORED: "starting" },
    ...{ PREAMBLE_NOT_STORED: "preparing.creating.informing.pausing", PREPARATION_FAILED: REMOVING },
  },
  removingCopy: { ...underWay, SESSIONS_REMOVED: READING, SESSIONS_LEFT: READING, FAULT: REMOVING },
  findingCopy: { ...underWay, SESSIONS_REMOVED: READING, SESSIONS_LEFT: READING, FAULT: REMOVING },
  readingConversation: {
    ...{ ...underWay, FAULT: "refused" },
    ...{ CONVERSATION_READ: REQUESTING, CONVERSATION_NOT_READ: "refused" },
  },
  starting: { TASK_STARTED: "started", NOT_SERVED: REMOVING, FAULT: REMOVING },
  removingSession: {
    ...{ CANCEL: REMOVING, CLOSE: "closed" },
    ...{ SESSIONS_REMOVED: "refused", SESSIONS_LEFT: "leftBehind.pausing" },
  },
  removingWorktree: {
    ...{ CANCEL: "givingUp.removingWorktree", CLOSE: "closed" },
    ...{ WORKTREE_REMOVED: "refused", FAULT: "refused" },
  },
  leftPausing: { TICK: "leftBehind.removing", CLOSE: "closed" },
  leftRemoving: { SESSIONS_REMOVED: "removed", SESSIONS_LEFT: "leftBehind.pausing", CLOSE: "closed" },
  started: {},
  refused: {},
  closed: {},
};

describe("a launch takes what may come in its state, and nothing else", () => {
  test.each(Object.entries(TAKEN) as [Place, { [Event in Type]?: string }][])("%s", (place, taken) => {
    const found: { [Event in Type]?: string } = {};
    for (const type of ALL) {
      const launch = launchIn(place);
      if (launch.refuses(type)) continue;
      launch.take(type);
      found[type] = stateOf(launch);
    }
    expect(found).toEqual(taken);
  });

  test("a cancelled one takes every answer that a call may have", () => {
    const launch = launchIn("awaitingAnswer");
    expect(ALL.filter((type) => launch.refuses(type))).toEqual([
      ...["TURN_TAKEN", "TASK_STARTED", "NOT_SERVED", "WORKTREE_REMOVED", "TICK"],
    ]);
  });
});
