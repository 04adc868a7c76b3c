import { expect, test } from "vitest";
import { createHostReads } from "../../../src/services/runtime/host-reads.ts";
import { createObservedSessions } from "../../../src/services/runtime/known-sessions.ts";
import { createFakeHost, refused, unavailable } from "../../fakes/fake-host.ts";
import { createVirtualClock } from "../../fakes/virtual-clock.ts";
import { createRecordingLog } from "../store/folder-and-log.ts";

const create = ({ isAlone = true } = {}) => {
  const clock = createVirtualClock();
  const host = createFakeHost(clock);
  const observed = createObservedSessions();
  host.addSession("ses_1");
  host.addSession("ses_2");
  host.listen(observed.onHostEvent);
  const log = createRecordingLog();
  return {
    ...{ host, clock, log },
    reads: createHostReads(host, clock, log, observed.sessionOf, () => isAlone),
  };
};

test("a session is as the host's events last described it", async () => {
  const { host, reads } = create();
  host.emitSession("ses_1");
  host.at("ses_1").agent = "plan";
  host.emitSession("ses_1");
  expect(await reads.session("ses_1")).toMatchObject({ ok: true, value: { id: "ses_1", agent: "plan" } });
  expect(host.calls).toEqual([]);
});

test("a session of which no event has come is read", async () => {
  const { host, reads } = create();
  expect(await reads.session("ses_1")).toMatchObject({ ok: true, value: { id: "ses_1" } });
  expect(host.calls).toEqual(["session"]);
});

test("a session that another process may have changed is read", async () => {
  const { host, reads } = create({ isAlone: false });
  host.emitSession("ses_1");
  host.at("ses_1").agent = "plan";
  expect(await reads.session("ses_1")).toMatchObject({ ok: true, value: { agent: "plan" } });
  expect(host.calls).toEqual(["session"]);
});

test("a session that was deleted is not known any more", async () => {
  const { host, reads } = create();
  host.emitSession("ses_1");
  host.delete("ses_1");
  expect(await reads.session("ses_1")).toMatchObject({ ok: false, failure: { kind: "notFound" } });
});

test("those who read a session at the same time share one call, those who read it later do not", async () => {
  const { host, reads } = create();
  const [first, second, other] = await Promise.all([
    reads.session("ses_1"),
    reads.session("ses_1"),
    reads.session("ses_2"),
  ]);
  expect(second).toEqual(first);
  expect(other).toMatchObject({ ok: true, value: { id: "ses_2" } });
  expect(host.calls).toEqual(["session", "session"]);
  host.at("ses_1").agent = "plan";
  expect(await reads.session("ses_1")).toMatchObject({ ok: true, value: { agent: "plan" } });
});

test("the models are read once, and not before somebody asks", async () => {
  const { host, reads } = create();
  host.failNext("models", refused);
  expect(await reads.models()).toMatchObject({ ok: false });
  await Promise.all([reads.models(), reads.models()]);
  expect(await reads.models()).toEqual({ ok: true, value: host.modelList });
  expect(host.calls).toEqual(["models", "models"]);
});

test("the agents are read once", async () => {
  const { host, reads } = create();
  await Promise.all([reads.agents(), reads.agents()]);
  expect(await reads.agents()).toMatchObject({ ok: true });
  expect(host.calls).toEqual(["agents"]);
});

test("a failure is passed to all who share the call, and not kept", async () => {
  const { host, reads } = create();
  host.failNext("agents", refused);
  expect(await Promise.all([reads.agents(), reads.agents()])).toMatchObject([{ ok: false }, { ok: false }]);
  expect(await reads.agents()).toMatchObject({ ok: true });
  host.throwNext("session", "kaboom");
  await expect(reads.session("ses_1")).rejects.toThrow("kaboom");
  expect(await reads.session("ses_1")).toMatchObject({ ok: true });
});

test("while the host cannot answer, one read is made again with growing pauses, for all who wait for it", async () => {
  const { host, clock, reads } = create();
  host.failNext("agents", unavailable, 3);
  const all = Promise.all(Array.from({ length: 300 }, () => reads.agents()));
  await clock.advance(1_000 + 2_000 + 4_000);
  expect(new Set((await all).map(({ ok }) => ok))).toEqual(new Set([true]));
  expect(host.calls).toEqual(["agents", "agents", "agents", "agents"]);
});

test("no read begins when the minute is over", async () => {
  const { host, clock, reads } = create();
  host.failNext("agents", unavailable);
  const slow = host.holdNext("agents");
  const read = reads.agents();
  await clock.advance(59_000);
  slow.release();
  await clock.advance(1_000);
  expect(await read).toMatchObject({ ok: false, failure: { kind: "unavailable" } });
  expect(host.calls).toEqual(["agents"]);
});

test.each(["agents", "models", "session"] as const)(
  "a host that does not say its %s for a minute is given up, until somebody asks again",
  async (name) => {
    const { host, clock, reads, log } = create();
    host.failNext(name, unavailable, 6);
    const read = () => (name === "session" ? reads.session("ses_1") : reads[name]());
    const first = read();
    await clock.advance(60_000);
    expect(await first).toMatchObject({ ok: false, failure: { kind: "unavailable" } });
    const what = name === "session" ? "ses_1" : name;
    const line = `the host could not be read, and is asked again ${JSON.stringify({ what, reason: unavailable.message })}`;
    expect(log.errors).toEqual(Array(5).fill(line));
    expect(await read()).toMatchObject({ ok: true });
  },
);
