import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { VERSION } from "../../../src/services/fleet/messages.ts";
import { createNatsBus } from "../../../src/services/fleet/nats/nats-bus.ts";
import { systemClock } from "../../../src/services/platform/clock.ts";
import { type CutLine, layLine } from "../../fakes/cut-line.ts";
import { describeWithNats, type NatsServer, startNats } from "../../fakes/nats-server.ts";
import { PATIENCE_MS } from "../../patience.ts";

const noLog = { info: () => undefined, error: () => undefined };

describeWithNats("a server that is cut off from its engine, as by a router that forgets a connection", () => {
  let engine: NatsServer;
  let line: CutLine;
  beforeAll(async () => {
    engine = await startNats();
    line = await layLine(Number(new URL(engine.url).port));
  });
  afterAll(async () => {
    await line.stop();
    await engine.stop();
  });

  test("connects anew as soon as there is a way, well within a usual lease", { timeout: 60_000 }, async () => {
    const bus = createNatsBus({ url: line.url, credentials: undefined }, "cut off", systemClock, noLog);
    let reached = 0;
    bus.onReached(() => {
      reached += 1;
    });
    const name = { home: "srv_1", task: "ses_1", run: 0 };
    const recall = () => bus.append(name, { v: VERSION, at: 0, type: "recalled" }, undefined);
    await vi.waitFor(() => expect(reached).toBe(1), { timeout: PATIENCE_MS });
    expect(await recall()).toMatchObject({ is: "stored" });
    line.cut();
    expect(await recall()).toMatchObject({ is: "unavailable" });
    line.mend();
    await vi.waitFor(() => expect(reached).toBe(2), { timeout: PATIENCE_MS });
    expect(await recall()).toMatchObject({ is: "stored" });
    await bus.close();
  });
});
