import { join } from "node:path";
import type { Browser } from "playwright-core";
import { ASKING, CONFIG, EXCEEDED, FOUR_LAUNCHES, scriptFourTasks, USED } from "../../test/e2e/four-tasks.ts";
import { newHome, removeHome } from "../../test/e2e/lab/home.ts";
import { pluginsOf } from "../../test/e2e/lab/lab.ts";
import { calls, hang, text } from "../../test/e2e/lab/reply.ts";
import { type ScriptedModel, startModel } from "../../test/e2e/lab/scripted-model.ts";
import { noTerminal, openTerminal } from "../../test/e2e/lab/terminal.ts";
import { inChild } from "../../test/e2e/tasks-and-notices.ts";
import { savePicture } from "./picture.ts";
import { terminalPage } from "./terminal-page.ts";

const PROMPT = "Make our tests faster, and have the migration reviewed";

/** What the agent says to the first result. */
const NOTED = "They are few, so the slow ones matter.";

/** For what takes several steps of several agents. */
const PATIENCE = { timeoutMs: 60_000 };

/** Keep two tasks at work until they are released: so the picture shows what happens in the same order each time. */
const [writing, trying] = [hang(), hang()];

/** Has the agent launch the four tasks, and go on with what their results say. */
const scriptTasks = (model: ScriptedModel): void => {
  scriptFourTasks(model);
  model.when(inChild("write the changelog"), writing);
  model.when(inChild("try it on a copy"), trying);
  model.when(PROMPT, [calls(FOUR_LAUNCHES, USED), text("Four tasks are at work. You need not wait for them.", USED)]);
  model.when('"Count the tests" finished', text(NOTED, USED));
  const glob = calls([{ name: "glob", args: { pattern: "CHANGELOG*" } }], USED);
  model.when('"Write the changelog" failed', [{ ...glob, text: "I look at how long the last entries are." }, hang()]);
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
    await terminal.shows(NOTED, PATIENCE);
    writing.release(EXCEEDED);
    await terminal.shows(/Glob "CHANGELOG/, PATIENCE);
    trying.release(ASKING);
    await terminal.shows("general asks: bash: sqlite3", PATIENCE);
    // Toasts about the ends cover a part of the conversation. They came before the agent went on.
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
