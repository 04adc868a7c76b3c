import { join } from "node:path";
import type { Browser } from "playwright-core";
import { newHome, removeHome } from "../../test/e2e/lab/home.ts";
import { pluginsOf } from "../../test/e2e/lab/lab.ts";
import { calls, failure, hang, text } from "../../test/e2e/lab/reply.ts";
import { type ScriptedModel, startModel } from "../../test/e2e/lab/scripted-model.ts";
import { noTerminal, openTerminal } from "../../test/e2e/lab/terminal.ts";
import { inChild, launching } from "../../test/e2e/tasks-and-notices.ts";
import { savePicture } from "./picture.ts";
import { terminalPage } from "./terminal-page.ts";

const PROMPT = "Make our tests faster, and have the migration reviewed";

/** What a step of an agent has used, in tokens. */
const USED = { tokens: { input: 12_000, output: 340 } };

/** A model that launches four tasks: one works on, one waits for its own task, which asks a permission, and two end. */
const scriptTasks = (model: ScriptedModel): void => {
  const launches = [
    launching("find slow tests", { description: "Find the tests that take longer than a second" }),
    launching("review the migration", { description: "Review the migration" }),
    launching("write the changelog", { description: "Write the changelog" }),
    launching("count the tests", { description: "Count the tests", agent: "explore" }),
  ];
  const nested = launching("try it on a copy", { description: "Try it on a copy" });
  const glob = { name: "glob", args: { pattern: "**/*.test.ts" } };
  const bash = { name: "bash", args: { command: "sqlite3 copy.db .schema", description: "Shows the schema" } };
  // The agent goes on while its tasks are at work, and takes up nothing else.
  model.when(({ parentSessionID }) => parentSessionID === undefined, hang());
  const work = { ...USED, text: "Four tasks are at work in the background. I look at the configuration meanwhile." };
  model.when(PROMPT, [
    calls(launches, work),
    calls([{ name: "glob", args: { pattern: "vitest.config.*" } }], USED),
    hang(),
  ]);
  model.when(inChild("find slow tests"), [calls([glob], USED), hang()]);
  model.when(inChild("review the migration"), [calls([nested], USED), text("It is being tried.", USED)]);
  model.when(inChild("try it on a copy"), calls([bash], USED));
  model.when(inChild("write the changelog"), failure(400, "The context window is exceeded"));
  model.when(inChild("count the tests"), text("There are 12 tests.", USED));
};

/** A model that has a price, and commands that a person must permit. */
const CONFIG = {
  permission: { bash: "ask" as const },
  provider: { scripted: { models: { m1: { name: "M1", cost: { input: 3, output: 15 } } } } },
};

/** A toast is the only thing with a bar at both of its ends. */
const TOAST = /┃.*┃/;

/** Shows a person's project in place of the temporary one, in as many columns. */
const shownAt = (home: string, captured: string): string => {
  const path = join(home, "project");
  return captured.replaceAll(path, "~/project".padEnd(path.length));
};

/** Draws a captured screen in the browser, and saves it as a picture. */
const draw = async (browser: Browser, captured: string, name: string): Promise<void> => {
  const page = await browser.newPage();
  await page.setContent(terminalPage(captured));
  const box = await page.locator("main").boundingBox();
  if (!box) throw new Error(`${name} cannot be drawn.`);
  await page.setViewportSize({ width: Math.ceil(box.width), height: Math.ceil(box.height) });
  await savePicture(page, name);
  await page.close();
};

/** Makes the pictures of the panel, in a real OpenCode with a scripted model. */
export const picturePanel = async (browser: Browser): Promise<void> => {
  if (noTerminal !== undefined) throw new Error(noTerminal);
  const model = await startModel({ title: "Faster tests" });
  const home = await newHome();
  scriptTasks(model);
  const [plugin = ""] = pluginsOf();
  const terminal = await openTerminal({
    modelURL: model.url,
    home,
    plugins: [[String(plugin), { maxDepth: 3 }]],
    panel: [plugin],
    config: CONFIG,
    size: { columns: 150, rows: 40 },
    animations: true,
  });
  try {
    await terminal.submit(PROMPT);
    for (const shown of ["general asks: bash: sqlite3", /✓ Count the tests/, /✗ Write the changelog/]) {
      await terminal.shows(shown, { timeoutMs: 60_000 });
    }
    // Toasts cover a part of the conversation. The last one is about an end.
    await terminal.shows(/[✓✗] Agent/);
    await terminal.hides(TOAST);
    await draw(browser, shownAt(home, await terminal.coloredScreen()), "panel");
    await terminal.press("C-x");
    await terminal.press("k");
    await terminal.shows("esc close");
    await draw(browser, shownAt(home, await terminal.coloredScreen()), "panel-list");
  } finally {
    await terminal.kill();
    await model.stop();
    await removeHome(home);
  }
};
