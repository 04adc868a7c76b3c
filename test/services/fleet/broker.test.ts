import { jetstreamManager } from "@nats-io/jetstream";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { dial } from "../../../src/services/fleet/nats/nats-connection.ts";
import { JOBS } from "../../../src/services/fleet/nats/streams.ts";
import { connectBroker, openBroker } from "../../fakes/connect-broker.ts";
import { createMemoryBroker } from "../../fakes/memory-broker.ts";
import { describeWithNats, startNats } from "../../fakes/nats-server.ts";
import { createVirtualClock } from "../../fakes/virtual-clock.ts";
import { PATIENCE_MS } from "../../patience.ts";
import { jobOf, QUEUE, testBroker } from "./broker-contract.ts";

describe("a broker in memory", () => {
  testBroker(async () => {
    const clock = createVirtualClock();
    const broker = createMemoryBroker(clock, 2_000);
    return {
      connect: broker.connect,
      pass: (ms) => clock.advance(ms),
      until: async (check) => {
        await clock.advance(100);
        await check();
      },
      restart: async () => {
        broker.cutOff();
        broker.bringBack();
      },
      wipe: async () => {
        await clock.advance(1);
        broker.wipe();
      },
      stop: async () => broker.cutOff(),
    };
  });
});

describeWithNats("NATS with JetStream", () => {
  test("gives out jobs although somebody has deleted their queue", async () => {
    const server = await startNats();
    onTestFinished(server.stop);
    const broker = await connectBroker(server);
    expect(await broker.take(QUEUE)).toEqual({ is: "taken", delivery: undefined });
    const admin = await dial({ url: server.url, credentials: undefined }, "admin");
    onTestFinished(() => admin.close());
    const { consumers } = await jetstreamManager(admin);
    for await (const { name } of consumers.list(JOBS)) await consumers.delete(JOBS, name);
    await broker.enqueue(jobOf({ task: "ses_1" }));
    await vi.waitFor(
      async () => expect(await broker.take(QUEUE)).toMatchObject({ delivery: { job: { task: "ses_1" } } }),
      { timeout: PATIENCE_MS, interval: 100 },
    );
  });

  test("gives out jobs although somebody has deleted others behind its back", async () => {
    const server = await startNats();
    onTestFinished(server.stop);
    const broker = await connectBroker(server);
    const admin = await dial({ url: server.url, credentials: undefined }, "admin");
    onTestFinished(() => admin.close());
    const offer = (task: string) => broker.enqueue(jobOf({ task }));
    const take = async () => {
      const taken = await broker.take(QUEUE);
      return taken.is === "taken" ? taken.delivery?.job.task : taken.is;
    };
    for (const task of ["ses_1", "ses_2", "ses_3", "ses_4"]) await offer(task);
    expect(await take()).toBe("ses_1");
    await (await jetstreamManager(admin)).streams.deleteMessage(JOBS, 3);
    expect([await take(), await take(), await take()]).toEqual(["ses_2", "ses_4", undefined]);
    await offer("ses_5");
    expect([await take(), await take()]).toEqual(["ses_5", undefined]);
  });

  testBroker(async () => {
    // A machine that is busy stands still for a second at times, and what is renewed is renewed each third of the lease.
    const server = await startNats({ lease: 4_000 });
    return {
      connect: () => openBroker(server.url),
      pass: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
      until: (check) => vi.waitFor(check, { timeout: PATIENCE_MS, interval: 20 }),
      restart: async () => {
        await server.kill();
        await server.start();
      },
      wipe: server.wipe,
      stop: server.stop,
    };
  });
});
