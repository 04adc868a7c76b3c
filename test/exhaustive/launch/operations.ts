import { AT } from "../charts.ts";
import type { LaunchFamily } from "./family.ts";
import { hears, type Outcome, reason, throws, type Waiting, when } from "./outcomes.ts";
import { createPreparation } from "./preparation.ts";
import { createRemoval } from "./removal.ts";
import { part } from "./world.ts";

/** Creates what may become of each thing that a launch's chart waits for. */
export const createOperations = (family: LaunchFamily) => {
  const { refuses = false } = family;
  const { requested, creating, finding, cutting, informing, reading } = createPreparation(family);
  const { removing } = createRemoval(family);

  const makingWorktree = (waiting: Waiting): Outcome[] => {
    const { who, slot } = waiting;
    const worktree = { id: `w${slot}`, directory: `/worktrees/w${slot}`, isShared: false };
    const refused = { type: "WORKTREE_REFUSED", at: AT, reason } as const;
    return [
      {
        name: `${who} makes the worktree`,
        work: (turn) => {
          part(turn.world.launches, slot).worktree = "there";
          turn.answer(slot, { type: "WORKTREE_MADE", at: AT, worktree });
        },
      },
      ...when(refuses, hears(waiting, "cannot make a worktree", refused, false), throws(waiting)),
    ];
  };

  const askingFleet = (waiting: Waiting): Outcome[] => {
    const { who, slot } = waiting;
    const offer = { pool: "p", commit: "c", attempts: 1, patience: 0 };
    const notOffered = { type: "FLEET_ANSWERED", at: AT, notOffered: reason } as const;
    return [
      {
        name: `${who} decides that the fleet is offered the task`,
        work: (turn) => {
          part(turn.world.launches, slot).isOffered = true;
          turn.answer(slot, { type: "FLEET_ANSWERED", at: AT, offer });
        },
      },
      hears(waiting, "decides that the fleet is not offered the task", notOffered),
      ...when(refuses, throws(waiting)),
    ];
  };

  const removingWorktree = ({ who, slot }: Waiting): Outcome[] => [
    {
      name: `${who} removes the worktree`,
      work: (turn) => {
        part(turn.world.launches, slot).worktree = "gone";
        turn.answer(slot, { type: "WORKTREE_REMOVED", at: AT });
      },
    },
    ...when(refuses, {
      ...{ name: `${who} cannot remove the worktree`, isExpected: false },
      work: (turn) => {
        part(turn.world.launches, slot).isSwept = true;
        turn.answer(slot, { type: "FAULT", at: AT, reason: "" });
      },
    }),
  ];

  const outcomesOf = (waiting: Waiting): Outcome[] => {
    const { operation, slot } = waiting;
    switch (operation.type) {
      case "makeWorktree":
        return makingWorktree(waiting);
      case "askFleet":
        return askingFleet(waiting);
      case "takeTurn":
        return [hears(waiting, `takes the turn of launch ${slot}`, { type: "TURN_TAKEN", at: AT })];
      case "createSession":
        return creating(waiting);
      case "findSession":
        return finding(waiting);
      case "cutCopy":
        return cutting(waiting);
      case "storePreamble":
        return informing(waiting);
      case "readConversation":
        return reading(waiting);
      case "removeSessions":
        return removing(waiting);
      case "removeWorktree":
        return removingWorktree(waiting);
      default:
        throw new Error(`nothing is known of what becomes of ${operation.type}`);
    }
  };

  return { outcomesOf, requested };
};
