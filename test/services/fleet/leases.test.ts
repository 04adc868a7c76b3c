import { expect, test } from "vitest";
import { heldLease } from "../../../src/services/fleet/broker.ts";
import { createMemoryBroker } from "../../fakes/memory-broker.ts";
import { createVirtualClock } from "../../fakes/virtual-clock.ts";

const LEASE = 60_000;

const taken = async () => {
  const clock = createVirtualClock();
  const { connect } = createMemoryBroker(clock, LEASE);
  const broker = connect();
  const acquiring = broker.acquire("run", "srv_1", 0);
  await clock.advance(10);
  const held = await acquiring;
  if (held.is !== "held") throw new Error(`the lease is not held: ${held.is}`);
  const holder = async () => {
    const reading = broker.holder("run");
    await clock.advance(10);
    return reading;
  };
  return { broker, clock, lease: heldLease(broker, "run", "srv_1", held.seq), holder };
};

test("a lease that is released while it is renewed after it has expired is nobody's", async () => {
  const { clock, lease, holder } = await taken();
  await clock.advance(LEASE + 1);
  const renewing = lease.renew();
  const releasing = lease.release();
  await clock.advance(100);
  await Promise.all([renewing, releasing]);
  expect(await holder()).toEqual({ is: "read", lease: undefined });
});

test("a lease that is released is not taken again by a renewal that comes later", async () => {
  const { clock, lease, holder } = await taken();
  const releasing = lease.release();
  expect(await lease.renew()).toBe("lost");
  await clock.advance(100);
  await releasing;
  expect(await holder()).toEqual({ is: "read", lease: undefined });
});

test.each([
  ["its run is another server's", false, "lost", undefined],
  ["that cannot be found out", undefined, "unknown", undefined],
  ["it is still wanted", true, "kept", "srv_1"],
] as const)(
  "a lease that has expired is taken again by a renewal only if it is wanted: where %s",
  async (_, isWanted, becomes, by) => {
    const { broker, clock, lease, holder } = await taken();
    await clock.advance(LEASE + 1);
    // The next process of a server knows no place of it.
    for (const held of [heldLease(broker, "run", "srv_1", 0), lease]) {
      const renewing = held.renew(async () => isWanted);
      await clock.advance(100);
      expect(await renewing).toBe(becomes);
      expect(await holder()).toMatchObject({ is: "read", lease: by && { holder: by } });
    }
  },
);

test("the next process of a server keeps a lease that has not expired without asking whether it is wanted", async () => {
  const { broker, clock, holder } = await taken();
  const next = heldLease(broker, "run", "srv_1", 0);
  const renewing = next.renew(async () => expect.unreachable("it is held"));
  await clock.advance(100);
  expect(await renewing).toBe("kept");
  await clock.advance(LEASE - 200);
  expect(await holder()).toMatchObject({ is: "read", lease: { holder: "srv_1" } });
});
