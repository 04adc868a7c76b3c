import { Buffer } from "node:buffer";
import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";

const folder = fileURLToPath(new URL("../../docs/images", import.meta.url));

/** Of 100: letters are clear, and a picture has some 60 kB. */
const QUALITY = 82;

/** Writes what a page shows into `docs/images`, as WebP. */
export const savePicture = async (page: Page, name: string): Promise<void> => {
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality: QUALITY });
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/${name}.webp`, Buffer.from(data, "base64"));
};
