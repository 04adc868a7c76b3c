import { expect, test, vi } from "vitest";
import type { HostSession } from "../../../src/machines/host-events.ts";
import {
  createAncestorTask,
  createObservedSessions,
  createSessionTree,
  type SessionTree,
} from "../../../src/services/runtime/known-sessions.ts";
import { createMemory } from "../../fakes/disk.ts";
import { createFakeHost } from "../../fakes/fake-host.ts";
import { createVirtualClock } from "../../fakes/virtual-clock.ts";
import { scriptTask } from "../store/scripted-task.ts";

const session = (id: string, title = "a session"): HostSession => ({
  ...{ id, parentID: undefined, agent: "build", model: undefined, permission: [], title },
});

const observing = () => {
  const observed = createObservedSessions();
  const see = (id: string, title?: string) =>
    observed.onHostEvent({ type: "session", sessionID: id, session: session(id, title), isNew: false });
  return { observed, see };
};

test("a session is as it was described last, until it is deleted", () => {
  const { observed, see } = observing();
  expect(observed.sessionOf("ses_1")).toBeUndefined();
  see("ses_1");
  see("ses_1", "renamed");
  observed.onHostEvent({ type: "idle", sessionID: "ses_1" });
  expect(observed.sessionOf("ses_1")).toEqual(session("ses_1", "renamed"));
  observed.onHostEvent({ type: "deleted", sessionID: "ses_1" });
  expect(observed.sessionOf("ses_1")).toBeUndefined();
});

test("of more than 1,000 sessions, those that changed last are remembered", () => {
  const { observed, see } = observing();
  for (let id = 0; id < 1_000; id += 1) see(`ses_${id}`);
  see("ses_0");
  expect(observed.sessionOf("ses_1")).toBeDefined();
  see("ses_1000");
  expect(observed.sessionOf("ses_1")).toBeUndefined();
  expect([observed.sessionOf("ses_0"), observed.sessionOf("ses_2"), observed.sessionOf("ses_1000")]).not.toContain(
    undefined,
  );
});

const create = (host = createFakeHost(createVirtualClock())): SessionTree =>
  createSessionTree(createMemory().boot(createVirtualClock()), host);

const note = (tree: SessionTree, sessionID: string, parentID: string | undefined, isNew = true) => {
  const session = { id: sessionID, parentID, agent: "build", model: undefined, permission: [], title: "" };
  tree.onHostEvent({ type: "session", sessionID, session, isNew });
};

test("a session that was deleted is forgotten, and stands below none any more", () => {
  const tree = create();
  note(tree, "ses_child", "ses_parent");
  expect(tree.ancestors("ses_child")).toEqual(["ses_child", "ses_parent"]);
  tree.onHostEvent({ type: "deleted", sessionID: "ses_child" });
  expect(tree.ancestors("ses_child")).toEqual(["ses_child"]);
  expect(tree.wasCreatedHere("ses_child")).toBe(false);
});

test("a task's parent is read from the store once, whatever the host says of its session: a fork has none there", () => {
  const store = createMemory().boot(createVirtualClock());
  store.commit(scriptTask("ses_fork", { parentSessionID: "ses_launcher" }).launch());
  const read = vi.spyOn(store, "get");
  const tree = createSessionTree(store, createFakeHost(createVirtualClock()));
  note(tree, "ses_fork", undefined);
  for (let time = 0; time < 3; time += 1) expect(tree.ancestors("ses_fork")).toEqual(["ses_fork", "ses_launcher"]);
  expect(read.mock.calls.filter(([id]) => id === "ses_fork")).toHaveLength(1);
});

test("a child counts as created here once this process saw it being created, and a session without a parent never", () => {
  const tree = create();
  note(tree, "ses_seen", "ses_parent");
  note(tree, "ses_seen", "ses_parent", false);
  note(tree, "ses_old", "ses_parent", false);
  note(tree, "ses_person", undefined);
  expect(["ses_seen", "ses_old", "ses_person", "ses_unknown"].map(tree.wasCreatedHere)).toEqual([
    true,
    false,
    false,
    false,
  ]);
});

test("an event that is neither of a session's shape nor its deletion changes nothing", () => {
  const tree = create();
  note(tree, "ses_child", "ses_parent");
  tree.onHostEvent({ type: "busy", sessionID: "ses_child" });
  expect(tree.ancestors("ses_child")).toEqual(["ses_child", "ses_parent"]);
});

test("a session that the host does not show is the last one that is known, and is asked for again", async () => {
  const host = createFakeHost(createVirtualClock());
  const tree = create(host);
  note(tree, "ses_child", "ses_gone");
  for (let time = 0; time < 2; time += 1) await tree.loadAncestors("ses_child");
  expect(tree.ancestors("ses_child")).toEqual(["ses_child", "ses_gone"]);
  expect(host.calls).toEqual(["session", "session"]);
});

test("sessions that are each other's parents are asked for once each", async () => {
  const host = createFakeHost(createVirtualClock());
  host.addSession("ses_a", { parentID: "ses_b" });
  host.addSession("ses_b", { parentID: "ses_a" });
  const tree = create(host);
  await tree.loadAncestors("ses_a");
  expect(tree.ancestors("ses_a")).toEqual(["ses_a", "ses_b"]);
  expect(host.calls).toEqual(["session", "session"]);
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
  const tree = create();
  const name = (index: number) => `ses_${index}`;
  for (let index = 0; index < 10_000; index += 1) note(tree, name(index), "ses_parent");
  note(tree, name(0), "ses_parent");
  note(tree, "ses_one_more", "ses_parent");
  const known = (sessionID: string) => tree.ancestors(sessionID).length > 1;
  expect([name(0), name(1), name(2), "ses_one_more"].map(known)).toEqual([true, false, true, true]);
});

test("a session works for itself where it is a task, and for each task above it, the nearest first", () => {
  const store = createMemory().boot(createVirtualClock());
  store.commit(scriptTask("ses_lead", { parentSessionID: "ses_person" }).launch());
  store.commit(scriptTask("ses_task", { parentSessionID: "ses_helper" }).launch());
  const tree = createSessionTree(store, createFakeHost(createVirtualClock()));
  note(tree, "ses_helper", "ses_lead");
  const tasksOf = (id: string) => tree.ancestorTasks(id).map(({ sessionID }) => sessionID);
  expect(["ses_task", "ses_helper", "ses_person"].map(tasksOf)).toEqual([["ses_task", "ses_lead"], ["ses_lead"], []]);
});

/** What counts for which task: `ses_lead` and `ses_task`, below it, are counted; `ses_rested`, below it too, is at rest. */
const counting = () => {
  const parents: Record<string, string | undefined> = {
    ses_lead: "ses_person",
    ses_helper: "ses_lead",
    ses_below_helper: "ses_helper",
    ses_task: "ses_helper",
    ses_below_task: "ses_task",
    ses_rested: "ses_lead",
    ses_below_rested: "ses_rested",
    ses_person: undefined,
    ses_of_person: "ses_person",
  };
  const store = createMemory().boot(createVirtualClock());
  store.commit(scriptTask("ses_rested").whole());
  const counted = ["ses_lead", "ses_task"];
  return createAncestorTask(
    { sessionOf: (id) => (id in parents ? { ...session(id), parentID: parents[id] } : undefined) },
    store,
    { heardAt: (id) => (counted.includes(id) ? 0 : undefined) },
  );
};

test.each([
  ["that a task's agent began counts for that task", "ses_helper", "ses_lead"],
  ["further below counts for the nearest task above it", "ses_below_helper", "ses_lead"],
  ["below a task of a task counts for that one alone", "ses_below_task", "ses_task"],
  ["of a task counts for itself", "ses_task", undefined],
  ["of a task at rest counts for nobody", "ses_rested", undefined],
  ["below a task at rest counts for nobody", "ses_below_rested", undefined],
  ["that a person's agent began counts for nobody", "ses_of_person", undefined],
  ["of which nothing is known counts for nobody", "ses_unknown", undefined],
])("a session %s", (_, sessionID, expected) => {
  expect(counting()(sessionID)).toBe(expected);
});
