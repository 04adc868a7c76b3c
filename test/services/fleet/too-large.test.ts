import { describe, expect, onTestFinished, test } from "vitest";
import { cutToFit, type Ended } from "../../../src/services/fleet/wire-messages.ts";
import { connectBroker } from "../../fakes/connect-broker.ts";
import { describeWithNats, startNats } from "../../fakes/nats-server.ts";
import { claimed, jobOf, RUN } from "./broker-contract.ts";

const endOf = (result: string): Ended & { type: "ended" } => ({
  ...{ v: 1, at: 1, type: "ended", nonce: "n", outcome: "completed", completedAt: 1, result },
});

describe("a result", () => {
  test("that fits into a message is sent as it is", () => {
    const end = endOf("short");
    expect(cutToFit(end)).toBe(end);
  });

  test.each([
    ["of plain letters", "a"],
    ["of letters that take several bytes", "é"],
    ["of characters that JSON escapes", "\n"],
  ])("that does not, %s, is cut, and says so", (_, letter) => {
    const { result = "" } = cutToFit(endOf(letter.repeat(2_000_000)));
    expect(result).toMatch(/\n\[The rest is left out: the fleet carries messages of 1 MB\.\]$/);
    expect(Buffer.byteLength(JSON.stringify(endOf(result)))).toBeLessThanOrEqual(1_000_000);
    expect(result.length).toBeGreaterThan(300_000);
  });

  test("in whose place something else was written is whole, and that is cut", () => {
    const { result, earlierText = "" } = cutToFit({ ...endOf(""), earlierText: "a".repeat(2_000_000) });
    expect(result).toBe("");
    expect(earlierText).toMatch(/1 MB\.\]$/);
  });
});

describeWithNats("NATS and messages that are too large", () => {
  const connect = async () => {
    const server = await startNats();
    onTestFinished(server.stop);
    return connectBroker(server);
  };

  test.each([600_000, 2_000_000])("a job with a prompt of %i characters is refused for good", async (length) => {
    const broker = await connect();
    expect(await broker.enqueue(jobOf({ prompt: "a".repeat(length) }))).toMatchObject({ is: "refused" });
    expect((await broker.enqueue(jobOf())).is).toBe("stored");
  });

  test("an end that was cut to fit is stored", async () => {
    const broker = await connect();
    await broker.append(RUN, claimed("first"), 0);
    const end = cutToFit(endOf("é".repeat(2_000_000)));
    expect(await broker.append(RUN, { ...end, type: "ended" }, undefined)).toMatchObject({ is: "stored" });
  });
});
