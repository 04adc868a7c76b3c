import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { formatSteps } from "../../src/cli/format-replay.ts";
import { openTerminal } from "../../src/cli/terminal.ts";
import { replay } from "../../src/machines/task/replay.ts";
import { scriptTask } from "../services/store/scripted-task.ts";
import { scriptedTerminal, streams } from "./scripted-terminal.ts";

const steps = () => {
  const story = scriptTask("ses_a");
  story.whole();
  const { facts, run } = story.record().snapshot.context;
  return replay({ facts, run: { ...run, index: 0 } }, story.events()).steps;
};

test.each([80, 95, 96, 120])("on %i columns no line is too wide", (columns) => {
  for (const line of formatSteps(steps(), scriptedTerminal({ columns })))
    expect(line.length).toBeLessThanOrEqual(columns);
});

test.each([
  ["y", true],
  [" YES ", true],
  ["n", false],
  ["", false],
  ["yesterday", false],
])("the answer %j to a question is yes: %j", async (answer, isYes) => {
  const stdin = Object.assign(new PassThrough(), { isTTY: true }) as unknown as NodeJS.ReadStream & PassThrough;
  const { confirm } = openTerminal({ ...streams({ isTTY: true }), stdin });
  const answered = confirm("Stop it?");
  stdin.write(`${answer}\n`);
  expect(await answered).toBe(isYes);
});

describe("colours", () => {
  const painted = (isTTY: boolean, env: NodeJS.ProcessEnv) =>
    openTerminal(streams({ isTTY, columns: 80, write: () => true }, env)).style("red", "x") !== "x";

  test("are shown on a terminal, and neither elsewhere nor where nobody wants them", () => {
    expect(painted(true, {})).toBe(true);
    expect(painted(true, { NO_COLOR: "" })).toBe(true);
    expect(painted(false, {})).toBe(false);
    expect(painted(true, { NO_COLOR: "1" })).toBe(false);
    expect(painted(true, { TERM: "dumb" })).toBe(false);
  });
});
