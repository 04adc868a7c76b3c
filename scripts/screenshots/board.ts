import type { Browser } from "playwright-core";
import { boardStage } from "../../test/browser/board-stage.ts";
import { launchExamples } from "../../test/browser/example-tasks.ts";
import { savePicture } from "./picture.ts";

/** The example that asks for a permission. */
const ASKING = "ses_6f1c880adffeTr83wqLpNbGj6w";

const PICTURES = [
  { name: "board-light", width: 1280, height: 800, colorScheme: "light", path: `/?task=${ASKING}&view=conversation` },
  { name: "board-dark", width: 1280, height: 800, colorScheme: "dark", path: `/?task=${ASKING}&view=conversation` },
  { name: "board-chart", width: 1280, height: 800, colorScheme: "light", path: `/?task=${ASKING}&view=chart` },
  { name: "board-phone", width: 390, height: 760, colorScheme: "dark", path: "/" },
] as const;

/** Makes the pictures of the board, with tasks that nobody ever had. */
export const pictureBoard = async (browser: Browser): Promise<void> => {
  const stage = await boardStage();
  launchExamples(stage.source, Date.now());
  for (const { name, width, height, colorScheme, path } of PICTURES) {
    const page = await browser.newPage({ viewport: { width, height }, colorScheme, reducedMotion: "reduce" });
    await page.goto(`${stage.url}${path}#token=${stage.token}`);
    await page.locator(".tree .task").nth(5).waitFor();
    if (path !== "/") await page.locator("#view > *").first().waitFor();
    await page.evaluate("document.fonts.ready");
    await savePicture(page, name);
    await page.close();
  }
  await stage.stop();
};
