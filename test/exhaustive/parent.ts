import type { OutboxEvent } from "../../src/machines/outbox/events.ts";
import { AT, NONE } from "./charts.ts";
import type { Move } from "./explore.ts";
import { ofOutbox, type Turn } from "./process.ts";
import { answerOf, nameOf, type Parts, type Turns } from "./turns.ts";
import type { World } from "./world.ts";

/** Creates what happens to the parent: its model reads, its turns fail, people use it, set it aside, delete it. */
export const createParent = ({ family, charts, numbers: { prompts } }: Parts, { atHost, turn }: Turns) => {
  const messageID = (prompt: number): string => prompts.at(prompt).messageID;

  /** True while ends wait for each other in that process. */
  const gathersMore = ({ processes }: World, p: number): boolean => {
    const outbox = processes[p]?.charts.outbox ?? NONE;
    return outbox !== NONE && charts.outboxes.at(outbox).matches({ delivery: { waiting: "gatheringMore" } });
  };

  const parentMoves = (before: World, p: number): Move<World>[] => {
    if (before.isDeleted) return [];
    const isBusy = before.isParentBusy[p] === true;
    const newest =
      before.conversation
        .map(({ prompt }) => messageID(prompt))
        .toSorted()
        .at(-1) ?? "";
    const reads = (what: string, promptID: string): Move<World> =>
      atHost(before, p, `the parent's model reads ${what}in ${nameOf(p)}`, (now) => {
        for (const message of now.world.conversation) message.isRead = true;
        Object.assign(now.world, { isParentBusy: [false, false], isStopped: false });
        const createdAt = before.conversation.length - 1;
        now.post(answerOf({ type: "PARENT_ANSWERED", at: AT, promptID, createdAt }, true));
      });
    // Its id is above those of all notices.
    const promptOfPerson = "msg_9";
    const stops = (now: Turn) => {
      Object.assign(now.world, { isParentBusy: [false, false], wasStopped: true, isStopped: true });
      now.post(answerOf({ type: "PARENT_ERROR", at: AT, message: "aborted" }, true));
    };
    const writes = (now: Turn) => {
      now.world.isParentBusy[p] = true;
      now.world.isStopped = false;
      now.post(answerOf({ type: "PARENT_BUSY", at: AT }, true));
    };
    const setsAside = (now: Turn) => {
      now.world.isSetAside = true;
    };
    const usesAgain = (event: OutboxEvent) => (now: Turn) => {
      now.world.isSetAside = false;
      now.post(answerOf(event, true));
    };
    const person = (name: string, work: (now: Turn) => void, isExpected = false): Move<World> =>
      atHost(before, p, `a person ${name} in ${nameOf(p)}`, work, isExpected);
    const ofPerson = [
      ...(family.stops && isBusy && !before.wasStopped ? [person("stops the parent's turn", stops)] : []),
      ...(family.stops && before.isStopped ? [person("writes to the parent", writes, true)] : []),
      // At any other time it makes no difference.
      ...(family.caches && gathersMore(before, p) ? [person("writes to the parent", writes)] : []),
      ...(family.setsAside && !before.isSetAside ? [person("sets the parent aside", setsAside)] : []),
      ...(before.isSetAside
        ? [
            person("takes the parent up again", usesAgain({ type: "PARENT_CHANGED", at: AT }), true),
            person(
              "writes to the parent that was set aside",
              usesAgain({ type: "PARENT_STORED", at: AT, messageID: promptOfPerson, createdAt: AT }),
            ),
          ]
        : []),
    ];
    const fails = (now: Turn) => {
      now.world.isParentBusy[p] = false;
      now.post(answerOf({ type: "PARENT_ERROR", at: AT, message: "" }, true));
      now.post(answerOf({ type: "PARENT_IDLE", at: AT }, true));
    };
    const deletes = (now: Turn) => {
      now.world.isDeleted = true;
      now.post(answerOf({ type: "PARENT_CLOSED", at: AT }, true));
    };
    const hasOutbox = before.processes[p]?.charts.outbox !== NONE;
    const launches = turn(before, p, "sees the parent launch a task", (now) =>
      now.dispatch(ofOutbox({ type: "PARENT_PRESENT", at: AT })),
    );
    return [
      ...(family.launches && hasOutbox ? launches : []),
      ...ofPerson,
      ...(isBusy ? [reads("", newest)] : []),
      ...(isBusy && family.stops ? [reads("a newer message of a person, too, ", promptOfPerson)] : []),
      ...(isBusy && family.turnsFail
        ? [atHost(before, p, `the parent's turn fails in ${nameOf(p)}`, fails, false)]
        : []),
      ...(family.deletes ? [atHost(before, p, `the parent is deleted in ${nameOf(p)}`, deletes, false)] : []),
    ];
  };

  return { parentMoves };
};
