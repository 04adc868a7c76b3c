import { expect, test } from "vitest";
import { type Served, serve, temporaryFolder } from "../../services/http/served.ts";
import { commandHere } from "../command-line.ts";

const steer = ({ folder }: Pick<Served, "folder">, ...args: string[]) =>
  commandHere(["steer", ...args, "--data", folder]);

test("the words after the id are the instruction, and the task is named that was given it", async () => {
  const served = await serve();
  const { sessionID } = served.source.launch({ sessionID: "ses_d123456" });
  expect(await steer(served, "ses_d1", "only", "the tests")).toEqual({
    code: 0,
    out: `Task ${sessionID} "task number 1" was given the instruction: its agent sees it at its next step.\n`,
    error: "",
  });
  expect(served.source.asked).toEqual([`steer with "only the tests" ${sessionID}`]);
});

test("what refuses the instruction says why", async () => {
  const served = await serve();
  const { sessionID } = served.source.launch();
  served.source.refusal = "Task ses_0001 cannot be steered: it has already finished (completed): use resume.";
  const { code, out, error } = await steer(served, sessionID, "faster");
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(error).toContain("use resume");
});

test("a task that is not there, and an OpenCode that does not run, are named", async () => {
  const served = await serve();
  expect((await steer(served, "ses_x", "faster")).error).toContain('There is no task "ses_x".');
  expect((await steer({ folder: temporaryFolder() }, "ses_x", "faster")).error).toContain("OpenCode is not running");
});
