import { expect, test } from "vitest";
import { machines } from "../../../src/machines/chart-json.ts";
import { chartOf, withAllInside } from "../../../src/machines/plain-chart.ts";
import { launchElsewhere, launchState } from "../../../src/services/text/launch-text.ts";

test("what a launch does is said by the words of its chart: of the state that it is in, and before that of the one around", () => {
  expect(launchState(["leftBehind.pausing"])).toBe(
    "Nobody waits any more. The session may still be there, or appear later: it is deleted as soon as it can be. Some time passes until the next attempt, more each time.",
  );
  expect(launchState(["starting"])).toBe("The session is ready, and the task's actor is started.");
  expect(launchState(["preparing.creating.searching.looking"])).toBe(
    "OpenCode did not say whether it created the session, so it is looked for. OpenCode is asked which sessions there are.",
  );
  for (const { path, states } of withAllInside(chartOf(machines.launch)))
    if (path !== "" && states.length === 0) expect(launchState([path])).toMatch(/^[A-Z].*\.$/);
});

test("one that this process does not carry out says whose it is, and what will become of it", () => {
  expect(launchElsewhere("other", "/project")).toContain("Another OpenCode process");
  expect(launchElsewhere("ended", "/my project")).toContain('is deleted when "/my project" is opened in OpenCode.');
});
