import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { onTestFinished } from "vitest";

const listen = async (port: number) => {
  const server = createServer().listen(port, "127.0.0.1");
  await once(server, "listening");
  return server;
};

/** Occupies `count` consecutive ports for the length of a test, and returns the first; the port after them was free. */
export const occupy = async (count: number): Promise<number> => {
  for (let attempt = 0; attempt < 50; attempt += 1) {
    const probe = await listen(0);
    const first = (probe.address() as AddressInfo).port;
    await new Promise((resolve) => probe.close(resolve));
    const taken = await Promise.allSettled(Array.from({ length: count + 1 }, (_, step) => listen(first + step)));
    const servers = taken.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    const close = (server: (typeof servers)[number]) => new Promise((resolve) => server.close(resolve));
    if (servers.length === taken.length) {
      await Promise.all(servers.slice(count).map(close));
      onTestFinished(() => void Promise.all(servers.slice(0, count).map(close)));
      return first;
    }
    await Promise.all(servers.map(close));
  }
  throw new Error(`there are not ${count} free ports in a row`);
};
