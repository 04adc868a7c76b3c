import { globSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { ON_BUN, SLOW } from "../../vitest.config.ts";

const cwd = fileURLToPath(new URL("../..", import.meta.url));

/** A file that was renamed would run on Bun no more, or last, and nothing would fail. */
test.each([...ON_BUN, ...SLOW.map((name) => `test/**/${name.includes("/") ? name : `*${name}`}`)])(
  "%s names a file of tests",
  (pattern) => {
    expect(globSync(pattern, { cwd })).not.toEqual([]);
  },
);
