import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newHome, removeHome } from "./lab/home.ts";
import { pluginsOf } from "./lab/lab.ts";
import { calls, failure, hang, text } from "./lab/reply.ts";
import { type ScriptedModel, startModel } from "./lab/scripted-model.ts";
import { noTerminal, openTerminal, type Terminal, type TerminalOptions } from "./lab/terminal.ts";
import { inChild, launching } from "./telling.ts";

const TOKENS = { tokens: { input: 12_000, output: 340 } };
/** For what takes several steps of several agents, on a machine that is busy with other tests. */
const PATIENCE = { timeoutMs: 40_000 };

const COMMAND = "sqlite3 copy.db .schema";

/** A model that launches four tasks: one works on, one waits for its own task, which asks a permission, and two end. */
const scriptTasks = (model: ScriptedModel): void => {
  const launches = [
    launching("find slow tests", { description: "Find the tests that take longer than a second" }),
    launching("review the migration", { description: "Review the migration" }),
    launching("write the changelog", { description: "Write the changelog" }),
    launching("count the files", { description: "Count the files", agent: "explore" }),
  ];
  const nested = launching("try it on a copy", { description: "Try it on a copy" });
  const glob = { name: "glob", args: { pattern: "**/*.ts" } };
  const bash = { name: "bash", args: { command: COMMAND, description: "shows the schema" } };
  model.when("look at everything", [calls(launches, TOKENS), text("Four tasks are at work.")]);
  model.when(inChild("find slow tests"), [calls([glob], TOKENS), hang()]);
  model.when(inChild("review the migration"), [calls([nested], TOKENS), text("It is being tried.")]);
  model.when(inChild("try it on a copy"), [calls([bash], TOKENS), text("The copy has the new schema.")]);
  model.when(inChild("write the changelog"), failure(400, "The context window is exceeded"));
  model.when(inChild("count the files"), text("There are 12 files.", TOKENS));
};

/** OpenCode with a model that has a price, and with commands that a person must permit. */
const CONFIG = {
  permission: { bash: "ask" as const },
  provider: { scripted: { models: { m1: { name: "M1", cost: { input: 3, output: 15 } } } } },
};

describe.skipIf(noTerminal !== undefined)("the panel in OpenCode's terminal interface", () => {
  let model: ScriptedModel;
  let home: string;
  let options: TerminalOptions;
  let terminal: Terminal;

  beforeAll(async () => {
    model = await startModel();
    home = await newHome();
    const [plugin = ""] = pluginsOf();
    const plugins = [[String(plugin), { maxDepth: 3 }] as [string, Record<string, unknown>]];
    options = {
      modelURL: model.url,
      home,
      plugins,
      panel: [String(plugin)],
      config: CONFIG,
      size: { columns: 150, rows: 44 },
    };
    terminal = await openTerminal(options);
    scriptTasks(model);
    await terminal.submit("look at everything");
  });

  afterAll(async () => {
    await terminal?.kill();
    await model.stop();
    await removeHome(home);
  });

  test("shows the tasks of the conversation: what waits for a person first, then what runs, then what has ended", async () => {
    await terminal.shows("The context window", PATIENCE);
    await terminal.shows("general asks: bash: sqlite3", PATIENCE);
    const screen = await terminal.shows(/✓ Count the files/, PATIENCE);
    const inOrder = [
      "2 running · 1 waits for you",
      "▲ Try it on a copy",
      "● Find the tests that take",
      "✗ Write the changelog",
    ];
    const places = inOrder.map((words) => screen.indexOf(words));
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places).not.toContain(-1);
    expect(screen).toMatch(/general · glob +12\.3k \$0\.04/);
    expect(screen).toMatch(/general · waits for its tasks/);
  });

  test("has one line beside the prompt, and at the bottom of a screen that is too narrow for that", async () => {
    expect(await terminal.screen()).toMatch(/Build · M1 Scripted +2 running · 1 waits for you · \$0\.\d\d/);
    await terminal.resize(60, 40);
    await terminal.shows(/^ {2}2 running · 1 waits for you · \$0\.\d\d/m);
    await terminal.hides(/Scripted +2 running/);
    await terminal.resize(150, 44);
    await terminal.shows(/Scripted +2 running/);
  });
});

if (noTerminal !== undefined) test.skip(`not tried: ${noTerminal}`, () => undefined);
