import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Lab, startLab } from "./lab/lab.ts";
import { text } from "./lab/reply.ts";
import { inChild, launchFrom, notified } from "./tasks-and-notices.ts";

const run = promisify(execFile);
const BIN = fileURLToPath(new URL("../../node_modules/.bin/", import.meta.url));
const CLI = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));

let lab: Lab;

beforeAll(async () => {
  lab = await startLab();
});

afterAll(() => lab.stop());

test("the built command replays and exports a task while OpenCode runs, on both runtimes", async () => {
  const parent = await lab.session();
  lab.model.when(inChild("count for the replay"), text("There are 12."));
  const [id = ""] = await launchFrom(lab, parent, ["count for the replay"]);
  await notified(lab, parent, [id]);
  const data = ["--data", join(lab.options.home, "data", "opencode-taskchart")];
  for (const runtime of ["node", "bun"]) {
    // A difference, or a fault, ends with another code than 0: then this rejects.
    const { stdout, stderr } = await run(join(BIN, runtime), [CLI, "replay", id, ...data]);
    expect(stdout).toContain("CHECKED_ANSWERED");
    expect(stdout).toContain("The journal replays to the stored snapshot: ");
    expect(stderr).toBe("");
  }
  const { stdout: exported } = await run(CLI, ["export", id, ...data], {
    env: { ...process.env, PATH: `${BIN}:${process.env.PATH}` },
  });
  expect(JSON.parse(exported)).toMatchObject({ taskId: id, hasText: false });
  expect(exported).not.toMatch(/count for the replay|There are 12|about count/);
  expect(exported).not.toContain(lab.options.home);
});
