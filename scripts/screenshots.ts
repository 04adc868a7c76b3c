import { chromium } from "playwright-core";
import { executablePath, QUIET } from "../test/browser/chromium.ts";
import { pictureBoard } from "./screenshots/board.ts";
import { picturePanel } from "./screenshots/panel.ts";

/** Makes the pictures in the documents: `npm run screenshots`; `npm run screenshots -- panel` makes those of the panel only. */
const MAKERS = { board: pictureBoard, panel: picturePanel };

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !Object.hasOwn(MAKERS, name));
if (unknown.length > 0) throw new Error(`There are no pictures of ${unknown.join(", ")}: name board or panel.`);
if (executablePath === undefined) throw new Error("There is no Chromium: install one, or name it in CHROMIUM.");
const browser = await chromium.launch({ executablePath, args: QUIET });
try {
  for (const [name, make] of Object.entries(MAKERS)) {
    if (wanted.length === 0 || wanted.includes(name)) await make(browser);
  }
} finally {
  await browser.close();
}
