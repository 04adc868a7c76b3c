import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { statechartFiles } from "../../scripts/statecharts/files.ts";
import { describeInChromium, openPage } from "./chromium.ts";

const sheets = Object.keys(await statechartFiles()).filter((name) => /^(?:sheets|stories)\//.test(name));
const urlOf = (name: string): string =>
  `file://${fileURLToPath(new URL(`../../statecharts/${name}`, import.meta.url))}`;

/** Texts that reach out of their box or the sheet, or lie over each other, and letters that are too small. Runs in the page. */
const FAULTS = `(() => {
  const faults = [];
  const svg = document.documentElement;
  const sheet = svg.getBoundingClientRect();
  const isIn = (one, other) => one.left >= other.left - 1 && one.right <= other.right + 1 && one.top >= other.top - 1 && one.bottom <= other.bottom + 1;
  const texts = [...svg.querySelectorAll("text")];
  const outlines = new Map(texts.map((text) => [text, text.getBoundingClientRect()]));
  for (const text of texts) {
    const box = text.closest(".box")?.querySelector("rect").getBoundingClientRect() ?? sheet;
    const outline = outlines.get(text);
    if (!isIn(outline, box)) faults.push("reaches out: " + text.textContent);
    if (parseFloat(getComputedStyle(text).fontSize) < 12) faults.push("too small: " + text.textContent);
    for (const other of texts) {
      if (other === text || text.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_PRECEDING) continue;
      const [a, b] = [outline, outlines.get(other)];
      if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3)
        faults.push(text.textContent + " lies over " + other.textContent);
    }
  }
  const boxes = [...svg.querySelectorAll(".box > rect")].map((rect) => rect.getBoundingClientRect());
  for (const [at, a] of boxes.entries())
    for (const b of boxes.slice(at + 1))
      if (a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom) faults.push("two boxes overlap");
  return faults;
})()`;

/** Contrast of every text with what it stands on, at its worst: 4.5 is what readers with weak eyes need. Runs in the page. */
const CONTRAST = `(() => {
  const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => {
    const [r, g, b] = channels(colour).map((part) => (part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const fillOf = (element) => getComputedStyle(element).fill;
  const sheet = fillOf(document.querySelector(".sheet"));
  return Math.min(...[...document.querySelectorAll("text")].map((text) => {
    const rect = text.closest(".box")?.querySelector("rect");
    const under = rect && fillOf(rect) !== "none" ? fillOf(rect) : sheet;
    const [one, other] = [light(fillOf(text)), light(under)].sort((a, b) => b - a);
    return (one + 0.05) / (other + 0.05);
  }));
})()`;

describeInChromium("a sheet of the statecharts, or a story,", () => {
  test("has all its texts inside their boxes, none over another, none smaller than 12 pixels, legible in light and dark", {
    tags: "gate",
    timeout: 120_000,
  }, async () => {
    const { page } = await openPage(urlOf("sheets/life-of-a-task.svg"), { origins: ["file://"] });
    for (const name of sheets) {
      await page.goto(urlOf(name));
      expect(await page.evaluate(FAULTS), name).toEqual([]);
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        expect(await page.evaluate(CONTRAST), `${name}, ${colorScheme}`).toBeGreaterThanOrEqual(4.5);
      }
    }
  });

  test("leads by a click on a state to what is inside", { tags: "gate" }, async () => {
    const { page } = await openPage(urlOf("sheets/life-of-a-task.svg"), { origins: ["file://"] });
    await page.locator('[data-state="run.active"] a').first().click();
    await page.waitForURL(/task\.run\.active\.svg$/);
    await page.locator('[data-state="run.active.working"] a').first().click();
    await page.waitForURL(/task\.run\.active\.working\.svg$/);
    await page.locator(".title a").last().click();
    await page.waitForURL(/task\.run\.active\.svg$/);
  });
});
