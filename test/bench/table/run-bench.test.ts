import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, test } from "vitest";
import { runBench } from "../../../bench/table/run-bench.ts";

const folder = mkdtempSync(join(tmpdir(), "taskchart-run-bench-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const FIGURES = new URL("../../../bench/figures.ts", import.meta.url);

/** A bench that does this with `report`. */
const benchThat = (name: string, code: string): URL => {
  const file = join(folder, `${name}.ts`);
  writeFileSync(file, `import { report } from ${JSON.stringify(FIGURES.href)};\n${code}\n`);
  return pathToFileURL(file);
};

const never = new AbortController().signal;
const figure = { what: "a page", value: 3, unit: "ms" };

test("the figures that a bench reports arrive, with the verdict of its exit code", async () => {
  const script = benchThat("missing", `report([${JSON.stringify({ ...figure, goal: 2 })}]);`);
  expect(await runBench("missing", script, never)).toEqual({ bench: "missing", figures: [{ ...figure, goal: 2 }] });
});

test("a bench that breaks after its report has failed, and its figures are kept", async () => {
  const script = benchThat("broken", `report([${JSON.stringify(figure)}]); process.exit(3);`);
  const outcome = await runBench("broken", script, never);
  expect(outcome.figures).toEqual([figure]);
  expect(outcome.failure).toBe("ended with code 3, but its figures say 0");
});

test("a bench that is interrupted is ended", async () => {
  const script = benchThat("endless", "void report; setInterval(() => undefined, 1_000);");
  const interruption = new AbortController();
  const running = runBench("endless", script, interruption.signal);
  interruption.abort(new Error("ended by SIGINT"));
  await expect(running).rejects.toThrow("ended by SIGINT");
});
