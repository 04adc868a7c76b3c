import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** Runs what is meant to fail, apart from all other tests. */
export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  test: { include: ["*.failing.ts"], setupFiles: ["../../../e2e/lab/each-test.ts"] },
});
