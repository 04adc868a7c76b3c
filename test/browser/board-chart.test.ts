import type { Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { settled } from "../fakes/virtual-clock.ts";
import { PATIENCE_MS } from "../patience.ts";
import { describeInChromium, openPage } from "./chromium.ts";
import { liveStage } from "./live-stage.ts";

const until = <T>(read: () => Promise<T>) => expect.poll(read, { timeout: PATIENCE_MS });

/** The board of the plugin on a fake host, with the chart of a task that is at work. */
const start = async (size: { width?: number; height?: number } = {}) => {
  const { stage, url, stop } = await liveStage(false);
  onTestFinished(stop);
  const id = await stage.launch({ description: "Mend the parser" });
  const { page, faults } = await openPage(`${url}/?task=${id}&view=chart`, size);
  await until(() => page.locator(".legend .by").textContent()).not.toBe("");
  return { stage, id, page, faults };
};

const boxes = (page: Page, kind: "lit" | "passed") =>
  page.locator(`.sheet-view .${kind}`).evaluateAll((all) => all.map((one) => one.getAttribute("data-state")));

/** The rows that are marked, each with its words and where it leads. */
const taken = (page: Page) =>
  page
    .locator(".sheet-view .taken")
    .evaluateAll((rows) =>
      rows.map((row) => [...row.querySelectorAll("text")].map((text) => text.textContent).join(" ")),
    );

const legend = (page: Page) => page.locator(".legend > :not([hidden])").allTextContents();

/** The least contrast of a text with what it stands on, were all boxes and rows of all sheets marked. Runs in the page. */
const CONTRAST = `(() => {
  const channels = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).map((one) => (colour.startsWith("color(") ? one * 1 : one / 255));
  const light = (element) => {
    const [r, g, b] = channels(getComputedStyle(element).fill).map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (text, under) => {
    const [one, other] = [light(text), light(under)].sort((a, b) => b - a);
    return (one + 0.05) / (other + 0.05);
  };
  const view = document.querySelector(".sheet-view");
  return Math.min(...[...document.querySelectorAll("template[data-sheet]")].flatMap(({ content }) => {
    const sheet = content.cloneNode(true);
    view.replaceChildren(sheet);
    return [...view.querySelectorAll(".box")].flatMap((box) => ["lit", "passed", "taken"].flatMap((mark) => {
      box.classList.remove("lit", "passed");
      if (mark !== "taken") box.classList.add(mark);
      return [...box.querySelectorAll(mark === "taken" ? "[data-through] text" : "text")].map((text) => {
        const row = text.closest("[data-through]");
        if (mark === "taken" && !row.querySelector("rect")) row.prepend(document.createElementNS(view.firstElementChild.namespaceURI, "rect"));
        if (mark === "taken") row.classList.add("taken");
        return contrast(text, mark === "taken" ? row.querySelector("rect") : box.querySelector("rect"));
      });
    }));
  }));
})()`;

describeInChromium("the chart of a task on the board", () => {
  test("shows the way that it came: the states that it has passed, and what led to where it is", {
    tags: "gate",
  }, async () => {
    const { stage, id, page, faults } = await start();
    expect(await boxes(page, "lit")).toEqual(["run.active.working.busy"]);
    expect(await legend(page)).toEqual([
      "where it is",
      "came here: prompt accepted, from run › active › prompting › sending",
    ]);

    await page.locator(".trail button", { hasText: "active" }).click();
    await until(() => boxes(page, "lit")).toEqual(["run.active.working"]);
    expect(await boxes(page, "passed")).toEqual(["run.active.prompting"]);
    expect(await taken(page)).toEqual(["prompt accepted → working"]);
    expect(await page.locator(".view .sr").textContent()).toContain(
      "Passed on its way: prompting. A gate may be run, and the prompt is sent.",
    );

    // The sheet that shows in full what led there.
    await page.locator(".legend .by button").click();
    await until(() => taken(page)).toEqual(["prompt accepted otherwise → working ↗"]);
    expect(await page.locator(".trail b").textContent()).toBe("prompting");

    await page.getByRole("button", { name: "Back to where it is" }).click();
    stage.host.finish(id, "There are 12.");
    await settled();
    await stage.clock.advance(1_000);
    await until(() => boxes(page, "lit")).toEqual(["lifecycle.completed"]);
    await until(() => boxes(page, "passed")).toEqual(["lifecycle.running"]);
    expect(await taken(page)).toEqual(["the run has ended if it was answered → completed"]);
    expect(faults).toEqual([]);
  });

  test.each([
    [1280, 800],
    [390, 844],
  ])("at %i × %i the state that it is in stands in the window as the tab opens", async (width, height) => {
    const { page } = await start({ width, height });
    const box = await page.locator(".sheet-view .lit > rect").boundingBox();
    if (!box) throw new Error("no state is lit");
    expect([box.x, box.y].every((one) => one >= 0)).toBe(true);
    expect(box.y + box.height).toBeLessThanOrEqual(height);
    expect(box.x + Math.min(box.width, width / 2)).toBeLessThanOrEqual(width);
    expect(await page.getByRole("tab", { name: "Chart" }).isVisible()).toBe(true);
  });

  test("what is marked can be read, in light and dark", async () => {
    const { page } = await start();
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await page.evaluate(CONTRAST), colorScheme).toBeGreaterThanOrEqual(4.5);
    }
  });
});
