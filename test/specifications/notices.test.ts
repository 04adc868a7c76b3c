import { expect } from "vitest";
import { WITH_NOTICES } from "../../scripts/requirements/specifications.ts";
import { isDevelopment } from "../../src/services/host/this-process.ts";
import { settled } from "../fakes/virtual-clock.ts";
import { endOtherBatch, newestOf } from "./notice-parts.ts";
import { scenario } from "./scenario.ts";

const FORMAT = "Silent System Hints in Notifications";

scenario(WITH_NOTICES, FORMAT, "Task completion notification format", async (stage, prefix) => {
  await endOtherBatch(stage);
  const id = await stage.launch({ description: "find the bug" });
  await stage.launch({ description: "another" });
  await stage.clock.advance(65_000);
  await stage.finish(id, "It is in a.ts.");
  const { visible, hidden } = newestOf(2, stage);
  expect(visible).toBe('✓ **Agent "find the bug" finished in 1m 5s.**\nTask Progress: 1/2\nResult: "It is in a.ts."');
  expect(hidden).toContain(`${prefix}_output(task_id="${id}")`);
  expect(hidden).toContain("It is in a.ts.");
});

scenario(WITH_NOTICES, FORMAT, "Task failure notification format", async (stage, prefix) => {
  await endOtherBatch(stage);
  const id = await stage.launch({ description: "find the bug" });
  await stage.clock.advance(1_500);
  stage.host.fail(id, { name: "APIError", message: "invalid api key" });
  await settled();
  const { visible, hidden } = newestOf(2, stage);
  expect(visible).toBe(
    '✗ **Agent "find the bug" failed in 1.5s.**\nTask Progress: 1/1\nError: "APIError: invalid api key"',
  );
  expect(hidden).toContain("APIError: invalid api key");
  expect(hidden).toContain(`Use ${prefix}_output tools to see agent responses.`);
});

scenario(WITH_NOTICES, FORMAT, "Task cancellation notification format", async (stage, prefix) => {
  await endOtherBatch(stage);
  const id = await stage.launch({ description: "find the bug" });
  await stage.clock.advance(2_000);
  await stage.call("cancel", { task_id: id });
  await settled();
  const { visible, hidden } = newestOf(2, stage);
  expect(visible).toBe('⊘ **Agent "find the bug" cancelled after 2s.**\nTask Progress: 1/1');
  expect(hidden).toContain(`Use ${prefix}_output tools to see agent responses.`);
});

const HINTS = "Conditional Hidden Hint Content";

scenario(WITH_NOTICES, HINTS, "Hidden hint when tasks still running", async (stage, prefix) => {
  const id = await stage.launch();
  await stage.launch();
  await stage.finish(id, "done");
  const { hidden } = newestOf(1, stage);
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
  await stage.finish(first, "one");
  await stage.finish(second, "two");
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
    await stage.finish(await stage.launch(), "done");
    expect(newestOf(1, stage).visible).toMatch(/\[hint attached\]$/);
  },
  { development: isDevelopment({ NODE_ENV: "development" }) },
);

scenario(
  WITH_NOTICES,
  INDICATOR,
  "Hide indicator in production mode",
  async (stage) => {
    await stage.finish(await stage.launch(), "done");
    expect(newestOf(1, stage).visible).not.toContain("hint attached");
  },
  { development: isDevelopment({ NODE_ENV: "production" }) },
);
