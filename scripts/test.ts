import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { closingLines, type StageResult, type VitestReport } from "./test/closing-lines.ts";

/**
 * `npm test`: builds, and runs every suite, also when one before it has failed, so that one run shows all that is wrong.
 * The last lines name what failed. Exits with 1 when anything did.
 */
const root = fileURLToPath(new URL("..", import.meta.url));

const STAGES = [
  { name: "build", script: "build" },
  { name: "Node", script: "test:unit" },
  { name: "Bun", script: "test:bun" },
  // Starts what the build made: without it, each of its tests would fail in the same way.
  { name: "OpenCode and pages", script: "test:host", needs: "build" },
];

const reports = mkdtempSync(join(tmpdir(), "taskchart-test-"));

async function run({ name, script }: (typeof STAGES)[number]): Promise<StageResult> {
  const file = join(reports, `${script.replace(":", "-")}.json`);
  const reporting =
    script === "build" ? [] : ["--", "--reporter=default", "--reporter=json", `--outputFile.json=${file}`];
  const stage = spawn("npm", ["run", "--silent", script, ...reporting], { cwd: root, stdio: "inherit" });
  const [code, signal] = (await once(stage, "close")) as [number | null, string | null];
  const report = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as VitestReport) : undefined;
  return { name, end: signal ?? code ?? 1, report };
}

const results: StageResult[] = [];
try {
  for (const stage of STAGES) {
    const isMissing = results.some(({ name, end }) => name === stage.needs && end !== 0);
    results.push(isMissing ? { name: stage.name, end: "not run" } : await run(stage));
  }
} finally {
  rmSync(reports, { recursive: true, force: true });
}
console.log(closingLines(results, root).join("\n"));
process.exitCode = results.every(({ end }) => end === 0) ? 0 : 1;
