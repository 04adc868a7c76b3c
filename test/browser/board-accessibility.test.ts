import { expect, onTestFinished, test } from "vitest";
import { PATIENCE_MS } from "../patience.ts";
import { occupy } from "../services/http/ports.ts";
import { findings } from "./axe.ts";
import { boardStage } from "./board-stage.ts";
import { describeInChromium, openPage } from "./chromium.ts";
import { launchExamples } from "./example-tasks.ts";

const until = <T>(read: () => Promise<T>) => expect.poll(read, { timeout: PATIENCE_MS });

/** The example that asks for a permission, and that a task launched. */
const ASKING = "ses_6f1c880adffeTr83wqLpNbGj6w";

const start = async () => {
  const stage = await boardStage({ port: await occupy(0) });
  onTestFinished(stage.stop);
  launchExamples(stage.source, Date.now());
  const projects = [{ project: "tea-shop", slots: 4, atWork: 1, version: "0.1.0" }];
  stage.source.view = {
    ...{ own: { id: "srv_0", label: "laptop" }, isReached: true, isCut: false },
    servers: Array.from({ length: 9 }, (_, at) => ({
      id: `srv_${at}`,
      label: `s${at}`,
      isDrained: at === 1,
      projects,
    })),
  };
  return {
    ...stage,
    open: (path = "/", size: { width?: number; height?: number } = {}) => openPage(stage.url + path, size),
  };
};

describeInChromium("the board for everybody", () => {
  test.each([
    ["light", 1400, undefined],
    // In the dark, only colours differ.
    ["dark", 1400, ["color-contrast"]],
    ["light", 390, undefined],
  ] as const)(
    "axe-core finds nothing in any view: %s, %i wide",
    { timeout: 180_000 },
    async (colorScheme, width, rules) => {
      const { token, open } = await start();
      const { page } = await open(`/#token=${token}`, { width });
      await page.emulateMedia({ colorScheme });
      await until(() => page.locator(".tree .task").count()).toBeGreaterThan(5);
      await page.locator(".fleet summary").click();
      await until(() => page.locator(".fleet li").count()).toBe(9);
      expect(await findings(page, rules)).toEqual([]);
      for (const view of ["", "conversation", "timeline", "chart"]) {
        await page.goto(`${new URL(page.url()).origin}/?task=${ASKING}&view=${view}`);
        await until(() => page.locator("#view > *").count()).toBeGreaterThan(0);
        expect({ view, findings: await findings(page, rules) }).toEqual({ view, findings: [] });
      }
      await page.getByRole("button", { name: "Cancel task" }).click();
      await until(() => page.locator("dialog").textContent()).toContain("Nothing else stops");
      expect(await findings(page, rules)).toEqual([]);
    },
  );

  test("axe-core finds nothing in the description of the API", async () => {
    const { open } = await start();
    const { page } = await open("/docs");
    expect(await findings(page)).toEqual([]);
  });

  test("the keyboard alone goes through the list, opens a task, its views and its way back", {
    tags: "gate",
  }, async () => {
    const { open } = await start();
    const { page } = await open();
    await until(() => page.locator(".tree .task").count()).toBeGreaterThan(5);
    const active = () => page.evaluate("document.activeElement?.id");
    const current = () => page.locator(".row.active .name").textContent();

    await page.keyboard.press("/");
    expect(await active()).toBe("search");
    await page.keyboard.press("Escape");
    expect(await active()).toBe("tasks");
    expect(await current()).toBe("Move all prices to one money type");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("j");
    await until(current).toBe("Run the migration on a copy of the database");
    const named = await page.locator("#tasks").getAttribute("aria-activedescendant");
    expect(await page.locator(`[id="${named}"]`).getAttribute("aria-level")).toBe("4");

    await page.keyboard.press("Enter");
    await until(active).toBe("details-title");
    expect(await page.locator("#details-title").textContent()).toBe("Run the migration on a copy of the database");
    await page.getByRole("tab", { name: "Overview" }).focus();
    await page.keyboard.press("ArrowRight");
    await until(() => page.getByRole("tab", { name: "Conversation" }).getAttribute("aria-selected")).toBe("true");
    await until(active).toBe("tab-conversation");

    await page.keyboard.press("Escape");
    await until(active).toBe("tasks");
    expect(new URL(page.url()).search).toBe("");
    // Up to the task that launched it, its batch and its conversation, which is closed and opened again.
    await page.keyboard.press("ArrowLeft");
    await until(current).toBe("Move all prices to one money type");
    await page.keyboard.press("ArrowLeft");
    await until(() => page.locator(".row.active .batch").count()).toBe(1);
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("ArrowLeft");
    await until(current).toContain("tea-shop");
    const before = await page.locator(".tree .task").count();
    await page.keyboard.press("ArrowLeft");
    await until(() => page.locator(".tree .task").count()).toBeLessThan(before);
    await page.keyboard.press("ArrowRight");
    await until(() => page.locator(".tree .task").count()).toBe(before);
    await page.keyboard.press("End");
    await until(current).toBe("Read the terms of the old provider");
  });

  test("where the focus is can be seen, and marks do not turn for those who want less motion", async () => {
    const { open } = await start();
    const { page } = await open();
    await until(() => page.locator(".tree .task").count()).toBeGreaterThan(5);
    for (let count = 0; count < 12; count += 1) {
      await page.keyboard.press("Tab");
      const style = await page.evaluate(
        "(() => { const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement); return outlineStyle + ' ' + outlineWidth; })()",
      );
      expect(style).toBe("solid 2px");
    }
    const animation = () => page.evaluate("getComputedStyle(document.querySelector('.turning')).animationName");
    expect(await animation()).toBe("none");
    await page.emulateMedia({ reducedMotion: "no-preference" });
    expect(await animation()).toBe("turn");
  });
});
