import { expect, test } from "vitest";
import { createLaunchesUnderWay, type LaunchCall } from "../../../../src/services/engine/launch/launches-under-way.ts";
import { fail } from "../../../../src/services/platform/result.ts";

const PARENT = "ses_parent";
const OTHER = "ses_other";

const call = { at: 0, signal: new AbortController().signal } as Pick<LaunchCall, "request" | "plan" | "signal" | "at">;

/** Counts a launch of the session until it is ended. */
const countedLaunch = (launches: ReturnType<typeof createLaunchesUnderWay>, parentSessionID: string) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  let signal: AbortSignal | undefined;
  const over = launches.during(parentSessionID, (launch) => {
    signal = launch.signal;
    return promise;
  });
  const end = () => {
    resolve();
    return over;
  };
  return { end, isCancelled: () => signal?.aborted };
};

test("the launches of a session are counted until they are done, also where one fails", async () => {
  const launches = createLaunchesUnderWay();
  const one = countedLaunch(launches, PARENT);
  countedLaunch(launches, OTHER);
  const failing = launches.during(PARENT, () => Promise.reject(new Error("kaboom")));
  expect(launches.of(PARENT)).toHaveLength(2);
  expect(launches.of(OTHER)).toHaveLength(1);
  await expect(failing).rejects.toThrow("kaboom");
  expect(launches.of(PARENT)).toHaveLength(1);
  await one.end();
  expect(launches.of(PARENT)).toEqual([]);
  expect(launches.of(OTHER)).toHaveLength(1);
});

test("cancelling those of one session leaves the others alone", () => {
  const launches = createLaunchesUnderWay();
  const ours = [countedLaunch(launches, PARENT), countedLaunch(launches, PARENT)];
  const others = countedLaunch(launches, OTHER);
  launches.cancel(PARENT);
  expect(ours.map(({ isCancelled }) => isCancelled())).toEqual([true, true]);
  expect(others.isCancelled()).toBe(false);
});

test("once all are stopped, a later one is cancelled from its beginning", () => {
  const launches = createLaunchesUnderWay();
  const before = [countedLaunch(launches, PARENT), countedLaunch(launches, OTHER)];
  expect(before.map(({ isCancelled }) => isCancelled())).toEqual([false, false]);
  launches.stop();
  const after = countedLaunch(launches, PARENT);
  expect([...before, after].map(({ isCancelled }) => isCancelled())).toEqual([true, true, true]);
});

test("a call is known by its launch until it is answered, and its answer is the caller's", async () => {
  const launches = createLaunchesUnderWay();
  const answered = launches.begin("msg_1", call);
  expect(launches.find("msg_1")).toMatchObject(call);
  expect(launches.callOf("msg_1")).toBe(launches.find("msg_1"));
  expect(launches.find("msg_2")).toBeUndefined();
  launches.callOf("msg_1").answer(fail("No such agent."));
  expect(await answered).toEqual(fail("No such agent."));
  expect(launches.find("msg_1")).toBeUndefined();
  expect(() => launches.callOf("msg_1")).toThrow("The launch msg_1 is over.");
});

test("a fault of ours is the caller's error, and ends the call as an answer does", async () => {
  const launches = createLaunchesUnderWay();
  const answered = launches.begin("msg_1", call);
  launches.callOf("msg_1").fail(new Error("kaboom"));
  await expect(answered).rejects.toThrow("kaboom");
  expect(launches.find("msg_1")).toBeUndefined();
});

test("a copy is taken by one launch, which may take it again, and by no other one", () => {
  const launches = createLaunchesUnderWay();
  expect(launches.takeCopies(["ses_a", "ses_b"], "msg_1")).toEqual(["ses_a", "ses_b"]);
  expect(launches.takeCopies(["ses_b", "ses_c"], "msg_2")).toEqual(["ses_c"]);
  expect(launches.takeCopies(["ses_a", "ses_b", "ses_c"], "msg_1")).toEqual(["ses_a", "ses_b"]);
});
