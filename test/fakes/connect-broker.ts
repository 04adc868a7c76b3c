import { expect, onTestFinished, vi } from "vitest";
import type { Broker } from "../../src/services/fleet/broker.ts";
import { createNatsBroker } from "../../src/services/fleet/nats/nats-broker.ts";
import { systemClock } from "../../src/services/platform/clock.ts";
import { PATIENCE_MS } from "../patience.ts";
import type { NatsServer } from "./nats-process.ts";

const noLog = { info: () => undefined, error: () => undefined };

/** Connects to a nats-server under a name until the test ends. Resolves once it answers. */
export const connectBroker = async ({ url }: NatsServer, name = "a test"): Promise<Broker> => {
  const broker = createNatsBroker({ url, credentials: undefined }, name, systemClock, noLog);
  onTestFinished(() => broker.close());
  await vi.waitFor(
    async () => expect((await broker.read({ origin: "srv_none", task: "none", run: 0 })).is).toBe("read"),
    {
      timeout: PATIENCE_MS,
      interval: 20,
    },
  );
  return broker;
};
