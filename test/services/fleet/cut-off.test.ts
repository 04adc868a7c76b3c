/** @module-tag nightly */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { WIRE_VERSION } from "../../../src/services/fleet/wire-messages.ts";
import { openBroker } from "../../fakes/connect-broker.ts";
import { type CutLine, layLine } from "../../fakes/cut-line.ts";
import { describeWithNats, type NatsServer, startNats } from "../../fakes/nats-server.ts";
import { PATIENCE_MS } from "../../patience.ts";

describeWithNats("a server that is cut off from its broker, as by a router that forgets a connection", () => {
  let broker: NatsServer;
  let line: CutLine;
  beforeAll(async () => {
    broker = await startNats();
    line = await layLine(Number(new URL(broker.url).port));
  });
  afterAll(async () => {
    await line.stop();
    await broker.stop();
  });

  test("connects anew as soon as there is a way, well within a usual lease", { timeout: 60_000 }, async () => {
    const broker = openBroker(line.url);
    let reached = 0;
    broker.onReached(() => {
      reached += 1;
    });
    const name = { origin: "srv_1", task: "ses_1", run: 0 };
    const requestStop = () => broker.append(name, { v: WIRE_VERSION, at: 0, type: "stopRequested" }, undefined);
    await vi.waitFor(() => expect(reached).toBe(1), { timeout: PATIENCE_MS });
    expect(await requestStop()).toMatchObject({ is: "stored" });
    line.cut();
    expect(await requestStop()).toMatchObject({ is: "unavailable" });
    line.mend();
    await vi.waitFor(() => expect(reached).toBe(2), { timeout: PATIENCE_MS });
    expect(await requestStop()).toMatchObject({ is: "stored" });
    await broker.close();
  });
});
