import { expect, test } from "vitest";
import { createLineage, type Lineage } from "../../../src/services/runtime/session-tree.ts";
import { createMemory } from "../../fakes/disk.ts";
import { createFakeHost } from "../../fakes/fake-host.ts";
import { createVirtualClock } from "../../fakes/virtual-clock.ts";

const create = (): Lineage => {
  const clock = createVirtualClock();
  return createLineage(createMemory().boot(clock), createFakeHost(clock));
};

const note = (lineage: Lineage, sessionID: string, parentID: string) =>
  lineage.note({ type: "child", sessionID, parentID, isNew: true });

test("a session that was deleted is forgotten, and stands below none any more", () => {
  const lineage = create();
  note(lineage, "ses_child", "ses_parent");
  expect(lineage.above("ses_child")).toEqual(["ses_child", "ses_parent"]);
  lineage.note({ type: "deleted", sessionID: "ses_child" });
  expect(lineage.above("ses_child")).toEqual(["ses_child"]);
  expect(lineage.isNew("ses_child")).toBe(false);
});

test("of 10,000 sessions and more, those that nothing was heard of for longest are forgotten", () => {
  const lineage = create();
  const name = (index: number) => `ses_${index}`;
  for (let index = 0; index < 10_000; index += 1) note(lineage, name(index), "ses_parent");
  note(lineage, name(0), "ses_parent");
  note(lineage, "ses_one_more", "ses_parent");
  const known = (sessionID: string) => lineage.above(sessionID).length > 1;
  expect([name(0), name(1), name(2), "ses_one_more"].map(known)).toEqual([true, false, true, true]);
});
