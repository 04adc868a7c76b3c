import { connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { portsToTry } from "../../../../src/services/http/server/listener.ts";
import { occupy } from "../ports.ts";
import { send } from "../raw.ts";
import { serve } from "../served.ts";

const log = { info: () => undefined, error: () => undefined };

const isTaken = (port: number, host: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, host);
    onTestFinished(() => void socket.destroy());
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
  });

// On Linux all of 127.0.0.0/8 is this machine: a server that listens on all interfaces can be reached there too.
test.runIf(process.platform === "linux")("it listens on 127.0.0.1 and on no other address", async () => {
  const { server } = await serve();
  expect(await isTaken(server.port, "127.0.0.1")).toBe(true);
  for (const host of ["127.0.0.2", "::1"])
    expect({ host, taken: await isTaken(server.port, host) }).toEqual({ host, taken: false });
});

test("ten ports are tried from 5165 or the configured one on, and then any free one", () => {
  const ten = (first: number) => Array.from({ length: 10 }, (_, step) => first + step);
  expect(portsToTry({}, log)).toEqual([...ten(5_165), 0]);
  expect(portsToTry({ ASYNCAGENTS_API_PORT: "7000" }, log)).toEqual([...ten(7_000), 0]);
  expect(portsToTry({ ASYNCAGENTS_API_PORT: "65534" }, log)).toEqual([65_534, 65_535, 0]);
});

test("with nine ports taken, the tenth is used", async () => {
  const first = await occupy(9);
  const { server } = await serve({ env: { ASYNCAGENTS_API_PORT: String(first) } });
  expect(server.port).toBe(first + 9);
});

test("OPTIONS * is answered with our headers on Node; Bun refuses it by itself", async () => {
  const { server } = await serve();
  const { status, headers } = await send(
    server.port,
    "OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
  );
  const expected = process.versions.bun ? { status: 400, origin: undefined } : { status: 204, origin: "*" };
  expect({ status, origin: headers.get("access-control-allow-origin") }).toEqual(expected);
});
