import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { enterFleet } from "../src/fleet.ts";
import { systemClock } from "../src/services/platform/clock.ts";
import { temporaryFolder } from "./fakes/repository.ts";

const log = { info: () => undefined, error: () => undefined };

/** The id by which a process that uses a folder is known in its fleet. Nobody listens at the broker's address. */
const idIn = async (folder: string, isStored: boolean): Promise<string> => {
  const options = { url: "nats://127.0.0.1:1", work: 0, offer: [], retries: 1, patience: 1_000 };
  const place = { projectId: "project", folder, directory: folder, isStored, isHeadless: false };
  const fleet = enterFleet({ options, ...place, clock: systemClock, log });
  onTestFinished(() => fleet.leave());
  return (await fleet.view()).own.id;
};

test("all processes that share a folder are one server of the fleet", async () => {
  const folder = temporaryFolder();
  expect(await idIn(folder, true)).toBe(await idIn(folder, true));
});

test("a process whose tasks are in memory is a server of its own: it knows nothing of the runs of others", async () => {
  const folder = temporaryFolder();
  const shared = await idIn(folder, true);
  expect(await idIn(folder, false)).not.toBe(shared);
  const other = temporaryFolder();
  await idIn(other, false);
  expect(existsSync(join(other, "fleet-server"))).toBe(false);
});
