import { describe, expect, test } from "vitest";
import { drawSheet } from "../../src/cli/draw-sheet.ts";
import { sheetOfPlace } from "../../src/machines/place.ts";
import { NO_WAY } from "../../src/machines/way.ts";
import { columnsOf } from "../../src/services/platform/columns.ts";

const AT_WORK = ["lifecycle.running", "run.active.working.busy", "notice.none", "attention.none", "steering.none"];
const WAY = {
  passed: ["run.queued", "run.active.working.retrying"],
  arrivals: { "run.active.working.busy": "run.active.working.retrying:HOST_BUSY:0" },
};
const drawn = (states: string[], columns = 80, way = NO_WAY) =>
  drawSheet({ chart: "task", states, way }, { columns, style: (_, text) => text });

describe("where in its chart a task is", () => {
  test.each([
    ["its run, while that is under way", AT_WORK, "run.active.working"],
    ["what it asks, if it asks something", AT_WORK.with(3, "attention.awaitingUser.question"), "attention"],
    ["the notice of its end, while that is delivered", ["lifecycle.completed", "run.idle", "notice.due"], "notice"],
    ["how it ended, after that", ["lifecycle.error", "run.idle", "notice.none"], "lifecycle"],
    ["its place in the queue", AT_WORK.with(1, "run.queued"), "run"],
  ])("is %s", (_, states, place) => {
    expect(sheetOfPlace("task", states)).toBe(`task.${place}`);
  });

  test.each([
    ["launch", ["preparing.creating.requesting"], "launch.preparing.creating"],
    ["launch", ["starting"], "launch"],
    ["outbox", ["delivery.waiting.gathering", "parent.coolingDown"], "outbox.delivery.waiting"],
    ["supervisor", ["open"], "supervisor"],
  ])("of another actor, a %s, is where its first region is", (chart, states, sheet) => {
    expect(sheetOfPlace(chart, states)).toBe(sheet);
  });

  test("is drawn with what leads away from there, and the names of the states beside it", () => {
    const lines = drawn(AT_WORK);
    expect(lines[0]).toBe("task › run › active › working");
    expect(lines).toContain("● busy");
    expect(lines).toContain("    instruction stored → checking › asking › verifying");
    expect(lines.join("\n")).toMatch(/^○ retrying: The provider refuses/m);
    expect(lines.indexOf("  in any of these states")).toBeGreaterThan(lines.indexOf("● busy"));
  });

  test("is drawn with the states that it has passed, and how it came to where it is", () => {
    const lines = drawn(AT_WORK, 80, WAY);
    expect(lines[lines.indexOf("● busy") + 2]).toBe(
      "  came here: OpenCode: at work, from run › active › working › retrying",
    );
    expect(lines.join("\n")).toMatch(/^✓ retrying: The provider refuses/m);
    expect(lines.join("\n")).toMatch(/^○ awaiting tasks: /m);
    expect(lines.at(-1)).toBe("● where it is   ✓ passed on its way   ○ neither");
  });

  test.each([80, 44])("fits into %i columns", (columns) => {
    for (const states of [
      AT_WORK,
      AT_WORK.with(1, "run.active.checking.asking.recovering"),
      AT_WORK.with(1, "run.queued"),
    ])
      for (const line of drawn(states, columns, WAY)) expect(columnsOf(line)).toBeLessThanOrEqual(columns);
  });
});
