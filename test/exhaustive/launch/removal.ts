import { LAUNCH_LIMITS } from "../../../src/machines/launch/setup.ts";
import { AT } from "../charts.ts";
import { isOfCopy, type LaunchFamily } from "./family.ts";
import { inHost, type Outcome, type Waiting, when } from "./outcomes.ts";
import type { LaunchTurn } from "./process.ts";
import { messageOf, part, sessionIdOf, type World } from "./world.ts";

/** When a search that nobody waits for is given up. */
const LATE = AT + LAUNCH_LIMITS.searchFor + 1;

/** Creates what may become of the search for the sessions of a launch, and of their deletion; see `pending-launches.ts`. */
export const createRemoval = (family: LaunchFamily) => {
  const { mistake, isUnreliable = false } = family;

  /** What a list of sessions says of those that were created for a launch; undefined where that is not known. */
  const listed = (turn: LaunchTurn, slot: number, row: number): number[] | undefined => {
    const { sessions, launches, parent } = turn.world;
    const own = part(sessions, row);
    if (own.isMarked && own.stage === "there") return [row];
    if (!isOfCopy(family, row) || mistake === "a copy without a mark is not looked for") return [];
    const mayBeAnothers = mistake !== "a copy that another launch has just made counts as left";
    if (mayBeAnothers && turn.isCopyingFor(slot)) return undefined;
    return sessions.flatMap(({ stage, isMarked }, index) => {
      // Nothing is proven of a copy that is not whole, nor without the conversation that it is of.
      const isProven = parent === "there" && stage === "there" && isOfCopy(family, index) && !isMarked;
      return isProven && launches.every(({ task }) => task !== index + 1) ? index : [];
    });
  };

  const withoutOthers = ({ sessions }: World, row: number, found: readonly number[]): readonly number[] =>
    found.filter((index) => {
      const { isMarked, isOf } = part(sessions, index);
      return isMarked || isOf === 0 || isOf === row + 1 || mistake === "two launches take the same copy for theirs";
    });

  const removing = (waiting: Waiting): Outcome[] => {
    const { who, p, slot, operation, isLeftBehind, before } = waiting;
    const { row, stage, sessions, done, isFinal } = operation;
    const what = messageOf(row);

    /** The session may still be there. A search that nobody waits for may have lasted for long enough. */
    const left = (name: string, isExpected: boolean, change?: (world: World) => void): Outcome[] =>
      (isLeftBehind && !isFinal ? [AT, LATE] : [AT]).map((at) => ({
        name: `${who} ${name}${at === AT ? "" : ", a quarter of an hour later"}`,
        isExpected,
        work: (turn) => {
          change?.(turn.world);
          const known = stage === "asked" && sessions ? { sessions: sessions.map(sessionIdOf) } : {};
          turn.answer(slot, { type: "SESSIONS_LEFT", at, ...known });
        },
      }));

    if (stage === "listing") {
      const list: Outcome = {
        ...{ name: `OpenCode lists what it has created for ${what}`, isInHost: true },
        work: (turn) => {
          const found = listed(turn, slot, row);
          turn.post(slot, { ...operation, ...(found ? { sessions: found, stage: "listed" } : { stage: "unknown" }) });
        },
      };
      return [list, ...when(isUnreliable, ...left(`is not told what was created for ${what}`, false))];
    }
    if (stage === "unknown") return left(`cannot tell what was created for ${what}`, true);
    if (stage === "listed") {
      const own = withoutOthers(before, row, sessions ?? []);
      const isForgotten = mistake === "a launch that was given up is forgotten where its session is not there yet";
      const isOver = own.length === 0 && (isFinal || isForgotten);
      if (own.length === 0 && !isOver) return left(`finds nothing for ${what}`, true);
      const name = `${who} finds ${isOver ? "nothing" : own.map(sessionIdOf)} for ${what}${isOver ? ", and ends it" : ""}`;
      return [{ name, work: (turn) => turn.goOnRemoving(slot, { ...operation, sessions: own }) }];
    }
    const session = sessions?.[done] ?? -1;
    const id = sessionIdOf(session);
    if (stage === "deleted") {
      const goOn = (turn: LaunchTurn) => turn.goOnRemoving(slot, { ...operation, done: done + 1 });
      return [{ name: `${who} hears that ${id} is gone`, work: goOn }];
    }
    const remove = (world: World) => {
      Object.assign(part(world.sessions, session), { stage: "gone", isDyingBy: 0 });
      world.requests[session] = 0;
    };
    const removeLater = ({ sessions: all }: World) => {
      if (part(all, session).stage !== "gone") part(all, session).isDyingBy = p + 1;
    };
    return [
      inHost(waiting, `OpenCode deletes ${id} for ${what}`, "deleted", { change: remove }),
      ...when(
        isUnreliable,
        ...left(`has ${id} deleted, and hears nothing`, false, remove),
        ...left(`asks in vain that ${id} be deleted`, false),
        ...left(`hears nothing of ${id}, which is deleted later`, false, removeLater),
      ),
    ];
  };

  return { removing };
};
