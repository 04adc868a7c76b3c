import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { newRepository, type Repository } from "../fakes/repository.ts";
import { PATIENCE_MS } from "../patience.ts";
import { newHome, removeHome } from "./lab/home.ts";
import { pluginsOf } from "./lab/lab.ts";
import { calls, text } from "./lab/reply.ts";
import { type ScriptedModel, startModel } from "./lab/scripted-model.ts";
import { setUp } from "./lab/set-up.ts";
import { noTerminal, openTerminal, type Terminal } from "./lab/terminal.ts";
import { inChild, launching } from "./tasks-and-notices.ts";

const until = <T>(read: () => T) => expect.poll(read, { timeout: PATIENCE_MS });

const bash = (command: string) => ({ name: "bash", args: { command, description: "works" } });

describe.skipIf(noTerminal !== undefined)("in the panel, what tasks changed in their worktrees is", () => {
  let model: ScriptedModel;
  let home: string;
  let project: Repository;
  let terminal: Terminal;

  setUp(async () => {
    model = await startModel();
    home = await newHome();
    mkdirSync(join(home, "project"));
    project = newRepository({ "a.txt": "one\ntwo\n" }, join(home, "project"));
    const [plugin = ""] = pluginsOf();
    terminal = await openTerminal({
      ...{ modelURL: model.url, home, panel: [String(plugin)], size: { columns: 150, rows: 44 } },
      plugins: [[String(plugin), { worktree: { agents: ["general"] } }]],
    });
    const writers = { "shout one": "s/one/ONE/", "translate one": "s/one/uno/" };
    for (const [prompt, change] of Object.entries(writers))
      model.when(inChild(prompt), [calls([bash(`sed -i '${change}' a.txt`)]), text("Written.")]);
    model.when("write it twice", [calls(Object.keys(writers).map((prompt) => launching(prompt))), text("launched")]);
    await terminal.submit("write it twice");
    await terminal.shows("✓ about shout one");
    await terminal.shows("✓ about translate one");
    return async () => {
      await terminal?.kill();
      await model.stop();
      await removeHome(home);
    };
  });

  /** Opens the list with a task selected. */
  const select = async (words: string) => {
    await terminal.press("C-x");
    await terminal.press("k");
    await terminal.shows("space mark");
    await terminal.press("/");
    await terminal.type(words);
    await terminal.shows(`Search: ${words}▏`);
    await terminal.press("Enter");
    await terminal.hides("▏");
  };

  test("applied by a key, after a look at the files", { tags: "gate" }, async () => {
    await select("shout");
    await terminal.shows("p apply  d discard");
    await terminal.press("p");
    const screen = await terminal.shows('Apply what "about shout one" changed?');
    expect(screen).toContain("1 file changed (+1 −1)");
    expect(screen).toContain('"a.txt" +1 −1');
    expect(screen).toMatch(/-one\s[\s\S]*\+ONE\s/);
    expect(screen).toContain("› Not now     Apply");
    expect(project.read("a.txt")).toBe("one\ntwo\n");
    await terminal.press("Right");
    await terminal.shows("› Apply");
    await terminal.press("Enter");
    // A toast is gone after seconds, or when another one comes: what it says is seen by what has happened.
    await until(() => project.read("a.txt")).toBe("ONE\ntwo\n");
    await terminal.shows("space mark");
    await terminal.pressUntilShown("p", "Its changes were applied.");
    await terminal.press("Escape");
    await terminal.hides("space mark");
  });

  test("left as it is where it conflicts, with the file named; and discarded by a key", async () => {
    project.write({ "a.txt": "ONE\ntwo\n" });
    const before = project.git("worktree", "list").trim().split("\n").length;
    await select("translate");
    await terminal.press("p");
    await terminal.shows('Apply what "about translate one" changed?');
    await terminal.press("Right");
    await terminal.shows("› Apply");
    await terminal.press("Enter");
    const conflict = await terminal.shows("a.txt (content)");
    expect(conflict).toMatch(/<<<<<<< yours\s[\s\S]*ONE[\s\S]*=======[\s\S]*uno[\s\S]*>>>>>>> the task's/);
    expect(conflict).toContain("opencode-taskchart apply");
    expect(project.read("a.txt")).toBe("ONE\ntwo\n");
    await terminal.press("Enter");
    await terminal.shows("space mark");
    await terminal.press("d");
    await terminal.shows("This removes its worktree; a patch file is kept.");
    await terminal.press("Right");
    await terminal.shows("› Discard");
    await terminal.press("Enter");
    await until(() => project.git("worktree", "list").trim().split("\n").length).toBe(before - 1);
    expect(project.read("a.txt")).toBe("ONE\ntwo\n");
  });
});
