import { Buffer } from "node:buffer";
import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { boardStage } from "../test/browser/board-stage.ts";
import { executablePath, QUIET } from "../test/browser/chromium.ts";
import { launchExamples } from "../test/browser/example-tasks.ts";

/** Makes the pictures of the board in the documents: `npm run screenshots`. They show tasks that nobody ever had. */
const folder = fileURLToPath(new URL("../docs/images", import.meta.url));

/** The example that asks for a permission. */
const ASKING = "ses_6f1c880adffeTr83wqLpNbGj6w";

/** Of 100: letters are clear, and a picture has some 60 kB. */
const QUALITY = 82;

const PICTURES = [
  { name: "board-light", width: 1280, height: 800, colorScheme: "light", path: `/?task=${ASKING}&view=conversation` },
  { name: "board-dark", width: 1280, height: 800, colorScheme: "dark", path: `/?task=${ASKING}&view=conversation` },
  { name: "board-chart", width: 1280, height: 800, colorScheme: "light", path: `/?task=${ASKING}&view=chart` },
  { name: "board-phone", width: 390, height: 760, colorScheme: "dark", path: "/" },
] as const;

if (executablePath === undefined) throw new Error("There is no Chromium: install one, or name it in CHROMIUM.");
const stage = await boardStage();
launchExamples(stage.source, Date.now());
const browser = await chromium.launch({ executablePath, args: QUIET });
mkdirSync(folder, { recursive: true });
for (const { name, width, height, colorScheme, path } of PICTURES) {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme, reducedMotion: "reduce" });
  await page.goto(`${stage.url}${path}#token=${stage.token}`);
  await page.locator(".tree .task").nth(5).waitFor();
  if (path !== "/") await page.locator("#view > *").first().waitFor();
  await page.evaluate("document.fonts.ready");
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality: QUALITY });
  writeFileSync(`${folder}/${name}.webp`, Buffer.from(data, "base64"));
  await page.close();
}
await browser.close();
await stage.stop();
