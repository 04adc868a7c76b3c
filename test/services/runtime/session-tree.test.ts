import { expect, test } from "vitest";
import { createSessionTree, type SessionTree } from "../../../src/services/runtime/session-tree.ts";
import { createMemory } from "../../fakes/disk.ts";
import { createFakeHost } from "../../fakes/fake-host.ts";
import { createVirtualClock } from "../../fakes/virtual-clock.ts";

const create = (host = createFakeHost(createVirtualClock())): SessionTree =>
  createSessionTree(createMemory().boot(createVirtualClock()), host);

const note = (lineage: SessionTree, sessionID: string, parentID: string) => {
  const session = { id: sessionID, parentID, agent: "build", model: undefined, permission: [], title: "" };
  lineage.onHostEvent({ type: "session", sessionID, session, isNew: true });
};

test("a session that was deleted is forgotten, and stands below none any more", () => {
  const lineage = create();
  note(lineage, "ses_child", "ses_parent");
  expect(lineage.ancestors("ses_child")).toEqual(["ses_child", "ses_parent"]);
  lineage.onHostEvent({ type: "deleted", sessionID: "ses_child" });
  expect(lineage.ancestors("ses_child")).toEqual(["ses_child"]);
  expect(lineage.wasCreatedHere("ses_child")).toBe(false);
});

test("the host is asked once for the sessions above one, however often they are wanted", async () => {
  const host = createFakeHost(createVirtualClock());
  host.addSession("ses_person");
  host.addSession("ses_middle", { parentID: "ses_person" });
  const tree = create(host);
  note(tree, "ses_child", "ses_middle");
  for (let time = 0; time < 3; time += 1) await tree.loadAncestors("ses_child");
  expect(tree.ancestors("ses_child")).toEqual(["ses_child", "ses_middle", "ses_person"]);
  expect(host.calls).toEqual(["session", "session"]);
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
