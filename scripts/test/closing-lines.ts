import { relative } from "node:path";

/** What Vitest's JSON reporter writes, as far as it is read here. */
export interface VitestReport {
  testResults: {
    /** The file's path. */
    name: string;
    status: "passed" | "failed";
    /** Why the file failed as a whole, where it did. */
    message: string;
    assertionResults: { fullName: string; status: "passed" | "failed" | "skipped" | "pending" | "todo" | "disabled" }[];
  }[];
}

export interface StageResult {
  name: string;
  /** Its exit code, the signal that ended it, or "not run" because a stage that it needs has failed. */
  end: number | string;
  /** Not there where the stage runs no tests, or ended before it had a report. */
  report?: VitestReport | undefined;
}

/**
 * What the last lines of a test run say: each failure with its stage and file, then how many passed, failed and were skipped.
 *
 * @param root the folder that the files' paths are shown relative to
 */
export function closingLines(stages: StageResult[], root: string): string[] {
  const failures = stages.flatMap((stage) => failuresOf(stage, root).map((failure) => `  ${stage.name}: ${failure}`));
  const tests = stages.flatMap(({ report }) => report?.testResults ?? []).flatMap((file) => file.assertionResults);
  const passed = tests.filter(({ status }) => status === "passed").length;
  const failed = tests.filter(({ status }) => status === "failed").length;
  const counts = `${passed} passed, ${Math.max(failed, failures.length)} failed, ${tests.length - passed - failed} skipped`;
  return [...(failures.length > 0 ? ["", "What failed:", ...failures] : []), "", counts];
}

function failuresOf({ end, report }: StageResult, root: string): string[] {
  if (end === 0) return [];
  if (end === "not run") return ["not run, because the build failed"];
  const named = (report?.testResults ?? []).flatMap((file) => {
    const path = relative(root, file.name);
    const failed = file.assertionResults.filter(({ status }) => status === "failed");
    if (failed.length > 0) return failed.map(({ fullName }) => `${path} › ${fullName}`);
    return file.status === "failed" ? [`${path}: ${file.message.split("\n")[0] || "failed as a whole"}`] : [];
  });
  // An error outside of all tests, or an end before the report.
  return named.length > 0 ? named : [`ended with ${end}, and no test of it failed: its own output says why`];
}
