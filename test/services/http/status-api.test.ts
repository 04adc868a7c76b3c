import { expect, test, vi } from "vitest";
import { createDelayedServer } from "../../../src/services/http/status-api.ts";
import { createVirtualClock, settled } from "../../fakes/virtual-clock.ts";

const create = (isPrompted = true) => {
  const clock = createVirtualClock();
  const stop = vi.fn(async () => undefined);
  const served = Promise.withResolvers<{ stop: typeof stop } | undefined>();
  const serve = vi.fn(() => served.promise);
  return { clock, stop, served, serve, server: createDelayedServer(clock, serve, isPrompted) };
};

test("it starts two seconds after it may where a prompt waits, and at once where none does", async () => {
  const { clock, serve, server } = create();
  await clock.advance(60_000);
  expect(serve).not.toHaveBeenCalled();
  server.permit();
  await clock.advance(1_999);
  expect(serve).not.toHaveBeenCalled();
  await clock.advance(1);
  expect(serve).toHaveBeenCalledOnce();

  const idle = create(false);
  await idle.clock.advance(60_000);
  expect(idle.serve).not.toHaveBeenCalled();
  idle.server.permit();
  await idle.clock.advance(0);
  expect(idle.serve).toHaveBeenCalledOnce();
});

test("it starts as soon as somebody needs it, once, and they wait until it serves", async () => {
  const { clock, served, serve, stop, server } = create();
  server.permit();
  const ready = [server.ready(), server.ready()];
  const isReady = vi.fn();
  void Promise.all(ready).then(isReady);
  await clock.advance(60_000);
  expect(serve).toHaveBeenCalledOnce();
  expect(isReady).not.toHaveBeenCalled();
  served.resolve({ stop });
  await settled();
  expect(isReady).toHaveBeenCalled();
});

test("nobody waits for one that may not start", async () => {
  const { serve, server } = create();
  await server.ready();
  expect(serve).not.toHaveBeenCalled();
});

test("it is stopped, also while it starts, and one that has not started never does", async () => {
  const late = create();
  late.server.permit();
  await late.server.stop();
  await late.clock.advance(60_000);
  expect(late.serve).not.toHaveBeenCalled();
  const { served, stop, server } = create();
  server.permit();
  void server.ready();
  const stopped = server.stop();
  served.resolve({ stop });
  await stopped;
  expect(stop).toHaveBeenCalledOnce();
});
