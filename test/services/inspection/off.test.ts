import { afterEach, expect, test, vi } from "vitest";
import { type ActorOptions, type AnyActorLogic, createActor } from "xstate";
import { createLiveCharts } from "../../../src/services/http/status-api.ts";
import { systemClock } from "../../../src/services/platform/clock.ts";
import { createStage } from "../../fakes/stage.ts";

vi.mock("xstate", async (original) => {
  const xstate = await original<typeof import("xstate")>();
  return { ...xstate, createActor: vi.fn(xstate.createActor) };
});

const loaded = vi.hoisted(() => ({ stately: 0 }));
vi.mock("../../../src/services/inspection/stately-adapter.ts", async (original) => {
  loaded.stately += 1;
  return await original();
});

const log = { info: () => undefined, error: () => undefined };
const start = async (option: boolean | "stately") => {
  const charts = createLiveCharts(systemClock, () => "");
  const recording = charts.record(option, "/project", log);
  createStage(recording ? { inspect: recording.inspect } : {});
  const given = vi.mocked(createActor).mock.calls.map(([, options]) => options as ActorOptions<AnyActorLogic>);
  return { charts, given };
};

afterEach(() => {
  vi.mocked(createActor).mockClear();
});

test("off: XState gets no inspector, Stately's package is not loaded, and no page is on", async () => {
  const { charts, given } = await start(false);
  expect(given).toEqual([{}]);
  expect(loaded.stately).toBe(0);
  expect(charts.pages.map(({ source }) => source.isOn())).toEqual([false, false]);
  expect(charts.pages.map(({ source }) => source.since(0).upTo)).toEqual([0, 0]);
});

test("on: XState gets an inspector, and only that page is on", async () => {
  const { charts, given } = await start(true);
  expect(given).toEqual([{ inspect: expect.any(Function) }]);
  expect(loaded.stately).toBe(0);
  expect(charts.pages.map(({ source }) => source.isOn())).toEqual([true, false]);
});

test("stately: Stately's package is loaded", async () => {
  const { charts, given } = await start("stately");
  expect(given).toEqual([{ inspect: expect.any(Function) }]);
  await vi.waitFor(() => expect(loaded.stately).toBe(1));
  expect(charts.pages.map(({ source }) => source.isOn())).toEqual([false, true]);
});
