import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { apiPage } from "../../scripts/api-page.ts";

const page = readFileSync(fileURLToPath(new URL("../../docs/api.md", import.meta.url)), "utf8");

test("docs/api.md says what the status API says of itself", () => {
  expect(page, "a route or a shape has changed: run `npm run api`").toBe(apiPage());
});
