import { dirname } from "node:path";
import { expect, test } from "vitest";
import { readFiles } from "../../../src/services/worktrees/fingerprints.ts";
import { createDurableStage } from "../../fakes/durable-stage.ts";
import { newRepository } from "../../fakes/repository.ts";
import { type Served, serve } from "../../services/http/served.ts";
import { commandHere } from "../command-line.ts";

const run = ({ folder }: Served, command: string, args: string[], size = {}) =>
  commandHere([command, ...args, "--data", folder], size);

test("a task is shown with how it stands, what it used, its prompt and its result, cut until all is asked for", async () => {
  const served = await serve();
  const now = new Date().toISOString();
  const { sessionID } = served.source.launch({
    sessionID: "ses_4f5c9a11",
    description: "fix the parser",
    prompt: Array.from({ length: 30 }, (_, line) => `line ${line}`).join("\n"),
    runStartedAt: now,
    progress: {
      tokens: 12_345,
      cost: 0.42,
      toolCalls: 3,
      toolCallsByName: { bash: 1, read: 2 },
      lastTools: ["read"],
      lastUpdate: now,
      wakeCosts: { wakes: 2, tokens: 60_000, cachedTokens: 55_000, cost: 0.1 },
    },
  });
  served.source.end(sessionID);
  const { code, out } = await run(served, "show", ["4f5c"], { columns: 80 });
  expect(code).toBe(0);
  expect(out).toMatch(/^fix the parser\nses_4f5c9a11 {2}completed\n\n/);
  expect(out).toMatch(/^used {6}\$0\.42, 12\.3k tokens$/m);
  expect(out.replaceAll(/\s+/g, " ")).toContain(
    "wakes 2 wakes: $0.10, 60k tokens (55k cached); of the agent that launched it tools",
  );
  expect((await run(served, "list", [])).out).toMatch(/ · 2 wakes: \$0\.10$/m);
  expect(out).toMatch(/^tools {5}3 calls: read 2, bash 1; last read$/m);
  expect(out).toMatch(/^agent {5}general, fake\/m1$/m);
  expect(out).toMatch(/^result {4}There are 12\.$/m);
  expect(out).toContain("… 22 more lines: --full shows them");
  expect((await run(served, "show", ["4f5c", "--full"])).out).toContain("line 29");
  expect(JSON.parse((await run(served, "show", ["4f5c", "--json"])).out)).toEqual(
    await served.json(`/v1/tasks/${sessionID}`),
  );
});

test("a task on another server is shown with it, and so is what it waits for there", async () => {
  const served = await serve();
  const server = { id: "srv_1", label: "desk" };
  const { sessionID } = served.source.launch({ sessionID: "ses_4f5c9a11", server });
  served.source.launch({ sessionID: "ses_aaaa1111" });
  expect((await run(served, "show", ["4f5c"])).out).toMatch(/^server {4}desk, another one of the fleet$/m);
  expect((await run(served, "show", ["aaaa"])).out).not.toMatch(/^server/m);
  expect((await run(served, "why", ["4f5c"])).out).toContain("Waits for its agent, which is at work on server desk");
  expect(JSON.parse((await run(served, "why", ["4f5c", "--json"])).out)).toMatchObject([{ server }]);
  served.source.end(sessionID);
  expect((await run(served, "show", ["4f5c"])).out).toMatch(/^server {4}desk, another one of the fleet$/m);
});

test("the receipt of a stored task says whether files have changed since its gate passed", async () => {
  const home = newRepository({ "a.txt": "1" });
  const saw = await readFiles("/nowhere", home.top);
  const { disk, ...stage } = createDurableStage({
    directory: home.top,
    gate: { agents: { general: "npm test" }, tries: 0, timeout: 60_000 },
    worktrees: { readFiles: async () => saw },
  });
  const id = await stage.complete("12");
  const shown = async (command: string, ...args: string[]) =>
    (await commandHere([command, id, ...args, "--data", dirname(disk.path)], { columns: 200 })).out;
  expect(await shown("receipt")).toMatch(/^ {2}Checked by a command: gate passed: "npm test"$/m);
  home.write({ "a.txt": "2" });
  const passed = 'gate passed: "npm test" (files where it ran have changed since)';
  expect(await shown("receipt")).toContain(`  Checked by a command: ${passed}\n`);
  expect(await shown("show")).toContain(passed);
  expect(JSON.parse(await shown("receipt", "--json"))).toMatchObject({
    gate: { files: { ...saw, haveChanged: true } },
  });
});

test("what became of the instructions of a task is shown, and what helps where one was missed", async () => {
  const served = await serve();
  const given = { text: "only the tests", from: "user" as const, givenAt: new Date().toISOString() };
  served.source.launch({ sessionID: "ses_4f5c9a11", instructions: [{ ...given, fate: "waiting" }] });
  served.source.launch({ sessionID: "ses_aaaa1111", instructions: [{ ...given, fate: "missed" }] });
  served.source.end("ses_aaaa1111", "cancelled");
  const wide = { columns: 300 };
  expect((await run(served, "show", ["4f5c"], wide)).out).toMatch(/^told {6}"only the tests" \(user\): not seen yet$/m);
  expect((await run(served, "show", ["aaaa"], wide)).out).toMatch(
    /^missed {4}Its agent never saw the instruction "only the tests" \(user\): .* retry the task with it in the prompt\.$/m,
  );
  expect((await run(served, "why", ["4f5c"], wide)).out).toContain(
    'Instructions: "only the tests" (user): not seen yet.',
  );
  expect(JSON.parse((await run(served, "why", ["4f5c", "--json"])).out)).toMatchObject([
    { instructions: [{ fate: "waiting" }] },
  ]);
  expect((await run(served, "list", [], wide)).out).toContain("1 instruction missed");
});
