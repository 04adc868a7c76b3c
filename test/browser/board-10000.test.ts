import { expect, onTestFinished, test } from "vitest";
import type { ApiTask } from "../../src/services/http/contract/api-task.ts";
import { PATIENCE_MS } from "../patience.ts";
import { occupy } from "../services/http/ports.ts";
import { boardStage } from "./board-stage.ts";
import { describeInChromium, openPage } from "./chromium.ts";

const TASKS = 10_000;

/** Elements of the list that may be in the page: a few windows of rows, whatever the number of tasks. */
const MAX_ELEMENTS = 1_500;

/** Frames longer than this stand out to a person. How many there are says more than how long one took on a busy machine. */
const LONG_FRAME_MS = 100;

/** Long frames of all while a person scrolls: a list that is drawn whole has one for nearly every step. */
const MAX_LONG_SHARE = 0.25;

const until = <T>(read: () => Promise<T>) => expect.poll(read, { timeout: PATIENCE_MS });

/** Scrolls the list by a window a frame, for that many frames; resolves to how long each frame took, in milliseconds. */
const SCROLL = `(async (frames) => {
  const list = document.getElementById("tasks");
  const durations = [];
  const frame = () => new Promise(requestAnimationFrame);
  let before = await frame();
  for (let count = 0; count < frames; count += 1) {
    list.scrollTop += list.clientHeight;
    const now = await frame();
    durations.push(now - before);
    before = now;
  }
  return durations;
})`;

describeInChromium("a board of 10,000 tasks", () => {
  test("has the rows in the window only, scrolls to its end, and finds one task among all", {
    timeout: 240_000,
  }, async () => {
    const stage = await boardStage({ port: await occupy(0) });
    onTestFinished(stage.stop);
    const now = Date.now();
    const tasks = Array.from({ length: TASKS }, (_, number): Partial<ApiTask> => {
      const startedAt = new Date(now - (TASKS - number) * 1_000).toISOString();
      const hasEnded = number < TASKS - 20;
      return {
        description: `task number ${number} of many`,
        parentSessionID: `ses_parent_${number % 40}`,
        batchId: `msg_${Math.floor(number / 100)}`,
        startedAt,
        ...(hasEnded ? { status: number % 10 === 0 ? "cancelled" : "completed", completedAt: startedAt } : {}),
      };
    });
    stage.source.launchAll(tasks);
    const { page, faults } = await openPage(stage.url, { width: 1400, height: 900 });
    const elements = () => page.locator("#tasks *").count();
    await until(() => page.locator(".footer").textContent()).toContain("of 10,000 tasks loaded");
    await until(elements).toBeGreaterThan(100);
    expect(await elements()).toBeLessThan(MAX_ELEMENTS);

    const loaded = async () => Number((await page.locator(".footer").textContent())?.split(" ")[0]?.replace(",", ""));
    const durations: number[] = [];
    for (let round = 0; round < 400 && (await loaded()) < TASKS; round += 1) {
      durations.push(...((await page.evaluate(`${SCROLL}(20)`)) as number[]));
      expect(await elements()).toBeLessThan(MAX_ELEMENTS);
    }
    await until(() => page.locator(".footer").textContent()).toBe("10,000 tasks");
    const long = durations.filter((duration) => duration > LONG_FRAME_MS).length;
    console.info(`${durations.length} frames, ${long} longer than ${LONG_FRAME_MS} ms`);
    expect(long / durations.length).toBeLessThan(MAX_LONG_SHARE);

    await page.locator("#tasks").press("End");
    await until(() => page.locator(".row.active .name").textContent()).toMatch(/^task number \d+ of many$/);
    await page.locator("#tasks").press("Home");
    // What a person reads stays where it is when something comes above it.
    await page.evaluate("document.getElementById('tasks').scrollTop = 100_000");
    const atTop = async () =>
      page.evaluate(
        "(() => { const list = document.getElementById('tasks'); const { left, top } = list.getBoundingClientRect(); const row = document.elementFromPoint(left + 80, top + 30).closest('[role=treeitem]'); return row.id + ' ' + Math.round(row.getBoundingClientRect().top); })()",
      );
    await until(atTop).toContain("row-");
    const before = await atTop();
    stage.source.launch({ description: "the newest", parentSessionID: "ses_new", startedAt: new Date().toISOString() });
    await until(() => page.locator(".footer").textContent()).toBe("10,001 tasks");
    expect(await atTop()).toBe(before);

    await page.getByLabel("Search descriptions").fill("number 4321 of");
    await until(() => page.locator(".tree .task .name").allTextContents()).toEqual(["task number 4321 of many"]);
    expect(faults).toEqual([]);
  });
});
