import { expect, test } from "vitest";
import { send } from "../raw.ts";
import { serve } from "../served.ts";

test("OPTIONS * is answered with our headers on Node; Bun refuses it by itself", async () => {
  const { server } = await serve();
  const { status, headers } = await send(
    server.port,
    "OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
  );
  const expected = process.versions.bun ? { status: 400, origin: undefined } : { status: 204, origin: "*" };
  expect({ status, origin: headers.get("access-control-allow-origin") }).toEqual(expected);
});
