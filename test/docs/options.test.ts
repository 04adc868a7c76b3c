import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { optionsPage } from "../../scripts/options-page.ts";

const page = readFileSync(fileURLToPath(new URL("../../docs/options.md", import.meta.url)), "utf8");

test("docs/options.md says what src/options.ts says", () => {
  expect(page, "an option has changed: run `npm run options`").toBe(optionsPage());
});
