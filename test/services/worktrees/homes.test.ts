import { expect, test } from "vitest";
import { createHomes } from "../../../src/services/worktrees/homes.ts";

const homeThat = (took: string[]) => ({
  started: () => "hooks",
  event: async (event: string) => void took.push(event),
});

test("events go to their home, and those from before it is open reach it first, in order", async () => {
  const homes = createHomes<string, string>();
  const took: string[] = [];
  await homes.tell("/home", "1");
  await homes.tell("/home", "2");
  await homes.tell("/other", "x");
  homes.open("/home", homeThat(took));
  await homes.tell("/home", "3");
  expect(took).toEqual(["1", "2", "3"]);
});

test("whoever waits for a home gets the one that is there, or the next", async () => {
  const homes = createHomes<string, string>();
  const waiting = homes.whenOpen("/home");
  const home = homeThat([]);
  const close = homes.open("/home", home);
  expect(await waiting).toBe(home);
  expect(await homes.whenOpen("/home")).toBe(home);
  close();
  expect(homes.of("/home")).toBeUndefined();
});

test("a home that ends after the next one began takes nothing away from that", () => {
  const homes = createHomes<string, string>();
  const closeFirst = homes.open("/home", homeThat([]));
  const second = homeThat([]);
  homes.open("/home", second);
  closeFirst();
  expect(homes.of("/home")).toBe(second);
});

test("no more than a thousand events are kept for a home that never opens", async () => {
  const homes = createHomes<string, string>();
  for (let count = 0; count < 1_005; count += 1) await homes.tell("/home", String(count));
  const took: string[] = [];
  homes.open("/home", homeThat(took));
  expect(took).toHaveLength(1_000);
  expect(took[0]).toBe("0");
});

test("a worktree is served from the start of its satellite to its end", () => {
  const homes = createHomes<string, string>();
  const leave = homes.join("/tree");
  expect([homes.isServed("/tree"), homes.isServed("/tree/sub")]).toEqual([true, false]);
  leave();
  expect(homes.isServed("/tree")).toBe(false);
});
