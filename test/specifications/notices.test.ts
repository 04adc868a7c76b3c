import { expect } from "vitest";
import type { Stage } from "../fakes/stage.ts";
import { settled } from "../fakes/virtual-clock.ts";
import { scenario, WITH_NOTICES } from "./scenario.ts";

const FORMAT = "Silent System Hints in Notifications";

/** The one notice that the parent got: its visible and its hidden part. */
const onlyNotice = (stage: Stage): { visible: string; hidden: string } => {
  const notices = stage.notices();
  expect(notices).toHaveLength(1);
  const [visible, hidden] = notices[0] ?? [];
  expect(notices[0]).toHaveLength(2);
  expect(visible?.synthetic ?? false).toBe(false);
  expect(hidden?.synthetic).toBe(true);
  return { visible: visible?.text ?? "", hidden: hidden?.text ?? "" };
};

scenario(WITH_NOTICES, FORMAT, "Task completion notification format", async (stage, prefix) => {
  const id = await stage.launch({ description: "find the bug" });
  await stage.launch({ description: "another" });
  await stage.clock.advance(65_000);
  stage.host.finish(id, "It is in a.ts.");
  await settled();
  const { visible, hidden } = onlyNotice(stage);
  expect(visible).toBe('✓ **Agent "find the bug" finished in 1m 5s.**\nTask Progress: 1/2\nResult: "It is in a.ts."');
  expect(hidden).toContain(`${prefix}_output(task_id="${id}")`);
  expect(hidden).toContain("It is in a.ts.");
});

scenario(WITH_NOTICES, FORMAT, "Task failure notification format", async (stage, prefix) => {
  const id = await stage.launch({ description: "find the bug" });
  await stage.clock.advance(1_500);
  stage.host.fail(id, { name: "APIError", message: "invalid api key" });
  await settled();
  const { visible, hidden } = onlyNotice(stage);
  expect(visible).toBe(
    '✗ **Agent "find the bug" failed in 1.5s.**\nTask Progress: 1/1\nError: "APIError: invalid api key"',
  );
  expect(hidden).toContain("APIError: invalid api key");
  expect(hidden).toContain(`Use ${prefix}_output tools to see agent responses.`);
});

scenario(WITH_NOTICES, FORMAT, "Task cancellation notification format", async (stage, prefix) => {
  const id = await stage.launch({ description: "find the bug" });
  await stage.clock.advance(2_000);
  await stage.call("cancel", { task_id: id });
  await settled();
  const { visible, hidden } = onlyNotice(stage);
  expect(visible).toBe('⊘ **Agent "find the bug" cancelled after 2s.**\nTask Progress: 1/1');
  expect(hidden).toContain(`Use ${prefix}_output tools to see agent responses.`);
});

const HINTS = "Conditional Hidden Hint Content";

scenario(WITH_NOTICES, HINTS, "Hidden hint when tasks still running", async (stage, prefix) => {
  const id = await stage.launch();
  await stage.launch();
  stage.host.finish(id, "done");
  await settled();
  const { hidden } = onlyNotice(stage);
  expect(hidden.split("\n")).toEqual(
    expect.arrayContaining([
      `If you need results immediately, use ${prefix}_output(task_id="${id}").`,
      "You can continue working or just say 'waiting' and halt.",
      "WATCH OUT for leftovers, you will likely WANT to wait for all agents to complete.",
    ]),
  );
  expect(hidden).not.toContain("tasks finished.");
});

scenario(WITH_NOTICES, HINTS, "Hidden hint when all tasks complete", async (stage, prefix) => {
  const first = await stage.launch();
  const second = await stage.launch();
  stage.host.finish(first, "one");
  await settled();
  stage.host.finish(second, "two");
  await settled();
  const last = stage.notices().at(-1)?.at(-1)?.text ?? "";
  expect(last.split("\n")).toEqual(
    expect.arrayContaining(["All 2 tasks finished.", `Use ${prefix}_output tools to see agent responses.`]),
  );
  expect(last).not.toContain("WATCH OUT");
});

const INDICATOR = "Development Mode Hint Indicator";

scenario(
  WITH_NOTICES,
  INDICATOR,
  "Show indicator in development mode",
  async (stage) => {
    stage.host.finish(await stage.launch(), "done");
    await settled();
    expect(onlyNotice(stage).visible).toMatch(/\[hint attached\]$/);
  },
  { development: true },
);

scenario(
  WITH_NOTICES,
  INDICATOR,
  "Hide indicator in production mode",
  async (stage) => {
    stage.host.finish(await stage.launch(), "done");
    await settled();
    expect(onlyNotice(stage).visible).not.toContain("hint attached");
  },
  { development: false },
);
