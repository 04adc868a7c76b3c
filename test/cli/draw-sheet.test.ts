import { describe, expect, test } from "vitest";
import { drawSheet } from "../../src/cli/draw-sheet.ts";
import { placeOf } from "../../src/machines/task/place.ts";
import { columnsOf } from "../../src/services/platform/columns.ts";

const AT_WORK = ["lifecycle.running", "run.working.busy", "notice.none", "attention.none", "steering.none"];
const drawn = (states: string[], columns = 80) => drawSheet(states, { columns, style: (_, text) => text });

describe("where in its chart a task is", () => {
  test.each([
    ["its run, while that is under way", AT_WORK, "run.working"],
    ["what it asks, if it asks something", AT_WORK.with(3, "attention.awaitingUser.question"), "attention"],
    ["the notice of its end, while that is delivered", ["lifecycle.completed", "run.idle", "notice.due"], "notice"],
    ["how it ended, after that", ["lifecycle.error", "run.idle", "notice.none"], "lifecycle"],
    ["its place in the queue", AT_WORK.with(1, "run.queued"), "run"],
  ])("is %s", (_, states, place) => {
    expect(placeOf(states)).toBe(place);
  });

  test("is drawn with what leads away from there, and the names of the states beside it", () => {
    const lines = drawn(AT_WORK);
    expect(lines[0]).toBe("task › run › working");
    expect(lines).toContain("● busy");
    expect(lines).toContain("    instruction stored → checking › asking › verifying");
    expect(lines.join("\n")).toMatch(/^○ retrying: The provider refuses/m);
    expect(lines.indexOf("  in any of these states")).toBeGreaterThan(lines.indexOf("● busy"));
  });

  test.each([80, 44])("fits into %i columns", (columns) => {
    for (const states of [AT_WORK, AT_WORK.with(1, "run.checking.asking.recovering"), AT_WORK.with(1, "run.queued")])
      for (const line of drawn(states, columns)) expect(columnsOf(line)).toBeLessThanOrEqual(columns);
  });
});
