import { expect, test } from "vitest";
import {
  type BytesInFlight,
  bytes,
  createBytesInFlight,
  createSseStream,
  MAX_UNREAD_BYTES,
} from "../../../../src/services/http/events/sse-stream.ts";
import { hasBackpressure } from "../../../../src/services/http/server/bun.ts";
import { createVirtualClock } from "../../../fakes/virtual-clock.ts";

const PART = 64 * 1024;

const subscribe = ({
  maxStreamBytes,
  bytesInFlight = createBytesInFlight(Number.POSITIVE_INFINITY),
  snapshot = "snapshot",
}: Given = {}) => {
  const clock = createVirtualClock();
  const told: string[] = [];
  const subscriber = createSseStream(bytes(snapshot), {
    clock,
    bytesInFlight,
    connection: {
      abort: () => told.push("dropped"),
      disableTimeout: () => undefined,
      unsentBytes: () => 0,
      endpoints: undefined,
      maxStreamBytes,
    },
    onGone: () => told.push("gone"),
  });
  if (!subscriber) throw new Error("there is no room");
  return { subscriber, told, clock };
};

interface Given {
  maxStreamBytes?: number;
  bytesInFlight?: BytesInFlight;
  snapshot?: string;
}

test("a client that reads nothing is dropped beyond the bound, and its heartbeat stops", () => {
  const { subscriber, told, clock } = subscribe();
  let sent = 0;
  for (; told.length === 0; sent += PART) subscriber.send(new Uint8Array(PART));
  expect(told).toEqual(["gone", "dropped"]);
  expect(sent).toBe(MAX_UNREAD_BYTES + PART);
  expect(clock.pending()).toBe(0);
  subscriber.send(new Uint8Array(PART));
  subscriber.end();
  expect(told).toEqual(["gone", "dropped"]);
});

test("a client that reads is not dropped, however much is sent, nor for one event longer than the bound", async () => {
  const { subscriber, told } = subscribe();
  const reader = subscriber.stream.getReader();
  expect((await reader.read()).value).toEqual(bytes("snapshot"));
  for (let sent = 0; sent < 40; sent += 1) {
    subscriber.send(new Uint8Array(MAX_UNREAD_BYTES * 2));
    expect((await reader.read()).value?.length).toBe(MAX_UNREAD_BYTES * 2);
  }
  expect(told).toEqual([]);
  await reader.cancel();
  expect(told).toEqual(["gone"]);
});

test("where the runtime does not tell how much was read, everything that was sent counts", async () => {
  const { subscriber, told } = subscribe({ maxStreamBytes: 3 * PART });
  const reader = subscriber.stream.getReader();
  await reader.read();
  for (let sent = 0; sent < 4; sent += 1) {
    subscriber.send(new Uint8Array(PART));
    await reader.read();
  }
  expect(told).toEqual([]);
  subscriber.send(new Uint8Array(PART));
  expect(told).toEqual(["gone", "dropped"]);
});

test("the versions of Bun with backpressure are known", () => {
  expect(["1.3.14", "1.4.0", "1.4.5", "1.10.0", "2.0.1", "0.9.0"].map(hasBackpressure)).toEqual([
    false,
    true,
    true,
    true,
    true,
    false,
  ]);
});
