import { dirname } from "node:path";
import { expect, test } from "vitest";
import { scriptTask } from "../../services/store/scripted-task.ts";
import { createSharedDatabase } from "../../services/store/shared-database.ts";
import { commandHere } from "../command-line.ts";

/** A folder with tasks that were all at work at the same moment, for a second each, on the first of January 2026. */
const withTasks = (...ids: string[]) => {
  const file = createSharedDatabase();
  const { store } = file.openAs("OpenCode");
  for (const id of ids) store.commit(scriptTask(id, { description: `the ${id}` }).whole());
  return dirname(file.path);
};

const SPAN = ["--since", "2025-12-31", "--until", "2026-01-02"];

test("says who would have waited for a slot and for how long, and by how much the last one would have ended later", async () => {
  const data = withTasks("ses_a", "ses_b", "ses_c");
  const { code, out, error } = await commandHere(["whatif", "--concurrency", "1", ...SPAN, "--data", data]);
  expect({ code, error }).toEqual({ code: 0, error: "" });
  expect(out).toMatch(
    /^3 tasks with 3 runs, launched from 2025-12-31 .* to 2026-01-02 .*\. At most 3 at work at once\.$/m,
  );
  expect(out).toContain(`Slots: at most 1 at work at once
2 runs of 3 would have waited for a slot: 2s at most, 3s in all. The last would have ended 2s later.
  ses_c  2s          the ses_c
  ses_b  1s          the ses_b
`);
});

test("says that nothing would have changed where that is so", async () => {
  const data = withTasks("ses_a");
  const limits = ["--concurrency", "1", "--budget-cost", "1", "--stale", "10m"];
  const { out } = await commandHere(["whatif", ...limits, ...SPAN, "--data", data]);
  expect(out).toContain("No run would have waited for a slot.");
  expect(out).toContain("No task would have been stopped.");
  expect(out).toContain("No task would have been called stale.");
});

test("leaves out what was launched outside of the time span", async () => {
  const data = withTasks("ses_a");
  const { out } = await commandHere(["whatif", "--concurrency", "1", "--since", "1h", "--data", data]);
  expect(out).toMatch(/^0 tasks with 0 runs, /);
});

test("prints everything as JSON", async () => {
  const data = withTasks("ses_a", "ses_b");
  const { out } = await commandHere(["whatif", "--agent", "general=1", "--json", ...SPAN, "--data", data]);
  expect(JSON.parse(out)).toMatchObject({
    tasks: 2,
    mostAtWork: 2,
    queue: { queued: [{ waited: 1_000 }], later: 1_000 },
  });
});

test.each([
  [[], "Give at least one limit to try, such as --concurrency 3, --budget-cost 1 or --stale 5m."],
  [["--concurrency", "0"], '--concurrency takes a whole number above 0, not "0".'],
  [["--concurrency", "1.5"], '--concurrency takes a whole number above 0, not "1.5".'],
  [["--provider", "anthropic"], '--provider takes a name and a number, such as provider=3, not "anthropic".'],
  [["--model", "acme/big=x"], '--model takes a whole number above 0, not "x".'],
  [["--budget-cost", ""], '--budget-cost takes a number above 0, not "".'],
  [["--stale", "10"], '--stale takes a duration such as 10m or 24h, not "10".'],
  [["--stale", "1m", "--since", "yesterday"], /--since takes a duration before now, such as 24h, or a date/],
  [["--stale", "1m", "--since", "1h", "--until", "2h"], "--since must be before --until."],
  [["--stale", "1m", "ses_a"], "Too many arguments for 'whatif'."],
])("%j is refused with what was wrong, and what to do", async (args, words) => {
  const { code, out, error } = await commandHere(["whatif", ...args]);
  expect(error).toMatch(words);
  expect({ code, out }).toEqual({ code: 2, out: "" });
});
