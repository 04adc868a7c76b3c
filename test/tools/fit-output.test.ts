import { expect, test } from "vitest";
import { truncateToLimit } from "../../src/tools/define-tool.ts";

test("a result that is cut to fit counts what it shows", () => {
  for (const text of ["😀".repeat(20_000), `x${"😀".repeat(20_000)}`]) {
    const { result } = truncateToLimit({ result: text }, "result", { offset: 0, readOn: () => "Read on." });
    const [, shown = "", counted] = /^([\s\S]*)\n\[Characters 0 to (\d+) of \d+\. Read on\.\]$/.exec(result) ?? [];
    expect(shown).not.toBe("");
    expect(text.startsWith(shown) && shown.isWellFormed()).toBe(true);
    expect(Number(counted)).toBe(shown.length);
  }
});
