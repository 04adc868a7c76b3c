import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** `npm run requirements` with these arguments. */
const run = async (...args: string[]) => {
  const command = spawn(process.execPath, ["scripts/requirements.ts", ...args], { cwd: root });
  const [output, errors, [code]] = await Promise.all([
    text(command.stdout),
    text(command.stderr),
    once(command, "close"),
  ]);
  return { output, errors, code };
};

test("a line is violated in the product, and the test that fails is named with the assertion that did", {
  tags: "nightly",
}, async () => {
  const { output, errors, code } = await run("--mutate", "--only", "resumeCount is initialized to zero");
  expect({ code, errors }).toEqual({ code: 0, errors: "" });
  const line = "Resume Count Tracking › Initial resume count › the task's resumeCount is initialized to zero";
  for (const specification of ["asyncagents-task", "superagents-task", "background-task"]) {
    expect(output).toMatch(
      new RegExp(
        `^red  ${specification} › ${line}\n +test/specifications/task\\.test\\.ts:\\d+: expected 1 to be`,
        "m",
      ),
    );
  }
  expect(output).toMatch(/^3 lines, 3 mistakes, 1 planted, \d+ s\.$/m);
});

test("words that no line has are named", async () => {
  const { errors, code } = await run("--mutate", "--only", "no such words");
  expect({ code, errors }).toMatchObject({ code: 1, errors: expect.stringContaining("these words: no such words") });
});
