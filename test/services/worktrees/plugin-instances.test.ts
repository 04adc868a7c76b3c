import { expect, test } from "vitest";
import { createPluginInstances } from "../../../src/services/worktrees/plugin-instances.ts";

const instanceThat = (took: string[]) => ({
  started: () => "hooks",
  event: async (event: string) => void took.push(event),
});

test("events go to their project, and those from before its plugin is started reach it first, in order", async () => {
  const instances = createPluginInstances<string, string>();
  const took: string[] = [];
  await instances.send("/project", "1");
  await instances.send("/project", "2");
  await instances.send("/other", "x");
  instances.open("/project", instanceThat(took));
  await instances.send("/project", "3");
  expect(took).toEqual(["1", "2", "3"]);
});

test("a caller that waits for an instance gets the one that is there, or the next", async () => {
  const instances = createPluginInstances<string, string>();
  const waiting = instances.whenOpen("/project");
  const instance = instanceThat([]);
  const close = instances.open("/project", instance);
  expect(await waiting).toBe(instance);
  expect(await instances.whenOpen("/project")).toBe(instance);
  close();
  expect(instances.of("/project")).toBeUndefined();
});

test("an instance that ends after the next one began takes nothing away from that", () => {
  const instances = createPluginInstances<string, string>();
  const closeFirst = instances.open("/project", instanceThat([]));
  const second = instanceThat([]);
  instances.open("/project", second);
  closeFirst();
  expect(instances.of("/project")).toBe(second);
});

test("no more than a thousand events are kept for a project whose plugin never starts", async () => {
  const instances = createPluginInstances<string, string>();
  for (let count = 0; count < 1_005; count += 1) await instances.send("/project", String(count));
  const took: string[] = [];
  instances.open("/project", instanceThat(took));
  expect(took).toHaveLength(1_000);
  expect(took[0]).toBe("0");
  const next: string[] = [];
  instances.open("/project", instanceThat(next));
  expect(next).toEqual([]);
});

test("a worktree is served from the start of the plugin there to its end", () => {
  const instances = createPluginInstances<string, string>();
  const leave = instances.serve("/tree");
  expect([instances.isServed("/tree"), instances.isServed("/tree/sub")]).toEqual([true, false]);
  leave();
  expect(instances.isServed("/tree")).toBe(false);
});
