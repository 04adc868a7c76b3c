import { expect, test } from "vitest";
import { createSessionTree, type SessionTree } from "../../../src/services/runtime/session-tree.ts";
import { createMemory } from "../../fakes/disk.ts";
import { createFakeHost } from "../../fakes/fake-host.ts";
import { createVirtualClock } from "../../fakes/virtual-clock.ts";

const create = (): SessionTree => {
  const clock = createVirtualClock();
  return createSessionTree(createMemory().boot(clock), createFakeHost(clock));
};

const note = (lineage: SessionTree, sessionID: string, parentID: string) =>
  lineage.onHostEvent({ type: "child", sessionID, parentID, isNew: true });

test("a session that was deleted is forgotten, and stands below none any more", () => {
  const lineage = create();
  note(lineage, "ses_child", "ses_parent");
  expect(lineage.ancestors("ses_child")).toEqual(["ses_child", "ses_parent"]);
  lineage.onHostEvent({ type: "deleted", sessionID: "ses_child" });
  expect(lineage.ancestors("ses_child")).toEqual(["ses_child"]);
  expect(lineage.wasCreatedHere("ses_child")).toBe(false);
});

test("of 10,000 sessions and more, those that nothing was heard of for longest are forgotten", () => {
  const lineage = create();
  const name = (index: number) => `ses_${index}`;
  for (let index = 0; index < 10_000; index += 1) note(lineage, name(index), "ses_parent");
  note(lineage, name(0), "ses_parent");
  note(lineage, "ses_one_more", "ses_parent");
  const known = (sessionID: string) => lineage.ancestors(sessionID).length > 1;
  expect([name(0), name(1), name(2), "ses_one_more"].map(known)).toEqual([true, false, true, true]);
});
