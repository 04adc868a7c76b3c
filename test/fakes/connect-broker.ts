import { expect, onTestFinished, vi } from "vitest";
import type { Broker } from "../../src/services/fleet/broker.ts";
import { createNatsBroker } from "../../src/services/fleet/nats/nats-broker.ts";
import { systemClock } from "../../src/services/platform/clock.ts";
import { PATIENCE_MS } from "../patience.ts";

/** Begins to connect to a nats-server under a name. */
export const openBroker = (
  url: string,
  name = "a test",
  { credentials, log }: { credentials?: Uint8Array; log?: Parameters<typeof createNatsBroker>[3] } = {},
): Broker =>
  createNatsBroker({ url, credentials }, name, systemClock, log ?? { info: () => undefined, error: () => undefined });

/** Waits until a broker is reached that is closed when the test ends. */
export const reached = async (broker: Broker): Promise<Broker> => {
  onTestFinished(() => broker.close());
  const read = async () => (await broker.read({ origin: "srv_none", task: "none", run: 0 })).is;
  await vi.waitFor(async () => expect(await read()).toBe("read"), { timeout: PATIENCE_MS, interval: 20 });
  return broker;
};

/** Connects to a nats-server under a name until the test ends. Resolves once it answers. */
export const connectBroker = ({ url }: { url: string }, name?: string): Promise<Broker> =>
  reached(openBroker(url, name));
