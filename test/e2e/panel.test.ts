import { execFile } from "node:child_process";
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { START, scriptTask } from "../services/store/scripted-task.ts";
import { createSharedDatabase } from "../services/store/shared-database.ts";
import { CONFIG, FOUR_LAUNCHES, scriptFourTasks, USED } from "./four-tasks.ts";
import { newHome, removeHome } from "./lab/home.ts";
import { pluginsOf } from "./lab/lab.ts";
import { lastUserText, type ModelRequest } from "./lab/model-request.ts";
import { startOpenCode } from "./lab/opencode.ts";
import { runOpenCode } from "./lab/opencode-run.ts";
import { startProxy } from "./lab/proxy.ts";
import { calls, hang, text } from "./lab/reply.ts";
import { type ScriptedModel, startModel } from "./lab/scripted-model.ts";
import { setUp } from "./lab/set-up.ts";
import { noTerminal, openTerminal, type Terminal, type TerminalOptions } from "./lab/terminal.ts";
import { inChild, launching } from "./tasks-and-notices.ts";

/** Has the agent launch the four tasks, and go on with those of later tests. */
const scriptTasks = (model: ScriptedModel): void => {
  scriptFourTasks(model);
  model.when("look at everything", [calls(FOUR_LAUNCHES, USED), text("Four tasks are at work.")]);
  // These are asked again when OpenCode has been restarted, and are at work until the end.
  const isKept = ({ parentSessionID, messages }: ModelRequest) =>
    parentSessionID !== undefined && /keep (at it|on)/.test(JSON.stringify(messages));
  model.when(isKept, hang());
};

describe.skipIf(noTerminal !== undefined)("the panel in OpenCode's terminal interface", () => {
  let model: ScriptedModel;
  let home: string;
  let options: TerminalOptions;
  let terminal: Terminal;

  /** Opens the interface with a panel. Resolves to what ends it. */
  const open = async () => {
    model = await startModel();
    home = await newHome();
    const [plugin = ""] = pluginsOf();
    const plugins = [
      [String(plugin), { maxDepth: 3, concurrency: { agents: { explore: 1 } } }] as [string, Record<string, unknown>],
    ];
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
    return async () => {
      await terminal.kill();
      await model.stop();
      await removeHome(home);
    };
  };

  /** Opens the list by its key. */
  const openList = async () => {
    await terminal.press("C-x");
    await terminal.press("k");
    await terminal.shows("space mark");
  };

  /** Closes the list, once it is shown again after what was done from it. */
  const closeList = async () => {
    await terminal.shows("space mark");
    await terminal.press("Escape");
    await terminal.hides("space mark");
  };

  /** Searches in the list, and leaves the keys to the first task that is found. */
  const select = async (words: string) => {
    await terminal.press("/");
    await terminal.type(words);
    await terminal.shows(`Search: ${words}▏`);
    await terminal.press("Enter");
    await terminal.hides("▏");
  };

  /**
   * Waits for the toast of the last task that ends: OpenCode shows one toast at a time, and this one comes 1.5 s after the
   * notice. It would take the place of the toast that a test waits for next.
   */
  const showsEnd = async (description: string) => {
    await terminal.shows(new RegExp(`[✓⊘] (Agent "${description}|\\d agents have ended)`));
  };

  describe("with tasks at work, one that asks, and others that have ended", () => {
    setUp(async () => {
      const end = await open();
      await terminal.submit("look at everything");
      await terminal.shows("The context window");
      await terminal.shows("general asks: bash: sqlite3");
      await terminal.shows(/✓ Count the tests/);
      return end;
    });

    test("shows the tasks of the conversation: what waits for a person first, then what runs, then what has ended", {
      tags: "gate",
    }, async () => {
      const screen = await terminal.screen();
      const inOrder = [
        "2 running · 1 waits for you",
        "▲ Try it on a copy",
        "● Find the tests that take",
        "✗ Write the changelog",
      ];
      const places = inOrder.map((words) => screen.indexOf(words));
      expect(places).toEqual(places.toSorted((a, b) => a - b));
      expect(places).not.toContain(-1);
      expect(screen).toMatch(/general · waits for its tasks/);
      await terminal.shows(/general · glob +12\.3k \$0\.04/);
    });

    test("has one line beside the prompt, and at the bottom of a screen that is too narrow for that", async () => {
      expect(await terminal.screen()).toMatch(/Build · M1 Scripted +2 running · 1 waits for you · \$0\.\d\d/);
      await terminal.resize(60, 40);
      await terminal.shows(/^ {2}2 running · 1 waits for you · \$0\.\d\d/m);
      await terminal.hides(/Scripted +2 running/);
      await terminal.resize(150, 44);
      await terminal.shows(/Scripted +2 running/);
    });

    test("lists the tasks by a key, opens the session of one deep below, and finds the way back", async () => {
      await openList();
      // OpenCode scrolls the conversation with this key, too, and closes dialogs then.
      await terminal.press("End");
      await terminal.shows(/› [✓✗]/);
      await select("copy");
      await terminal.press("w");
      await terminal.shows("Waits for the user to approve");
      await terminal.press("Escape");
      await terminal.shows("space mark");
      await terminal.press("Enter");
      await terminal.hides("Search:");
      await terminal.shows("try it on a copy");
      // In the session of a subagent, OpenCode has neither sidebar nor prompt.
      await terminal.shows(/^ {2}● Try it on a copy · ctrl\+x j back · 2 running · 1 waits for you/m);
      await terminal.press("C-x");
      await terminal.press("j");
      await terminal.shows(/Scripted +2 running/);
    });

    test("answers a permission of a task deep below in place, from the task above it", { tags: "gate" }, async () => {
      await openList();
      await select("review");
      await terminal.press("a");
      await terminal.shows("Allow always");
      await terminal.press("Enter");
      await terminal.shows("Answered the permission");
      await closeList();
      await terminal.shows(/✓ Try it on a copy/);
    });

    test("stops a task by hand, after a question that can be declined", { tags: "gate" }, async () => {
      await openList();
      await select("longer");
      await terminal.press("x");
      await terminal.shows("Nothing else stops with it.");
      await terminal.press("Escape");
      await terminal.shows("x stop");
      await terminal.press("x");
      await terminal.shows("› Leave it running     Stop it");
      await terminal.press("Enter");
      await terminal.shows("x stop");
      await terminal.press("x");
      await terminal.shows("› Leave it running     Stop it");
      await terminal.press("Right");
      await terminal.shows("› Stop it");
      await terminal.press("Enter");
      await terminal.shows(/⊘ Find the tests/);
      await showsEnd("Find the tests");
      await closeList();
    });

    test("retries a task whose model failed, with another one, and with a prompt or without", async () => {
      await openList();
      await select("changelog");
      await terminal.press("r");
      await terminal.shows("Retry with which model?");
      await terminal.shows("The same model");
      await terminal.type("M2");
      await terminal.hides("The same model");
      await terminal.press("Enter");
      await terminal.shows("Retry, with a prompt or without");
      await terminal.type("mind the gap");
      await terminal.press("Enter");
      await terminal.shows('Retried "Write the changelog"');
      const request = await model.waitFor((made) => lastUserText(made).endsWith("mind the gap"));
      expect(request.body.model).toBe("m2");
      await closeList();
    });

    test("says why an action makes no sense, and resumes a task with a prompt", async () => {
      await terminal.submit("/tasks");
      await terminal.shows("space mark");
      await select("count");
      await terminal.press("s");
      await terminal.shows("has ended: resume it with r");
      await terminal.press("r");
      await terminal.shows("Resume with a prompt");
      await terminal.type("once more");
      await terminal.press("Enter");
      await terminal.shows('Resumed "Count the tests"');
      await model.waitFor(inChild("once more"));
      await closeList();
    });
  });

  describe("with tasks that wait: for a slot, for an answer, for their model", () => {
    /** Keep their tasks at work until they are released. */
    let [looking, choosing, thinking] = [hang(), hang(), hang()];

    setUp(async () => {
      const end = await open();
      [looking, choosing, thinking] = [hang(), hang(), hang()];
      const launches = [
        launching("keep at it", { description: "Keep at it" }),
        launching("look here", { description: "Look here", agent: "explore" }),
        launching("look there", { description: "Look there", agent: "explore" }),
        launching("choose", { description: "Choose a database" }),
        launching("think aloud", { description: "Think aloud", fork: true }),
      ];
      model.when("start more", [calls(launches), text("started")]);
      model.when(inChild("look here"), looking);
      model.when(inChild("look there"), looking);
      model.when(inChild("choose"), [choosing, text("SQLite, then.")]);
      model.when("think aloud", thinking);
      await terminal.submit("start more");
      await terminal.shows(/○ Look there\s[\s\S]*explore · 1st in the queue/);
      return end;
    });

    test("shows the place of a task in the queue, and what it waits for, until its turn comes", async () => {
      await terminal.shows(/ · 1 queued/);
      await openList();
      await select("there");
      await terminal.press("w");
      await terminal.shows(/Waits for a slot of agent explore \(1 of 1 in use/);
      await terminal.press("Escape");
      await terminal.shows("space mark");
      await closeList();
      looking.release(text("There is nothing."));
      await terminal.hides(/ · 1 queued/);
      await showsEnd("Look there");
    });

    test("answers a question of a task in place, and keeps the keys when it appears below the list", async () => {
      await model.waitFor(inChild("choose"));
      await openList();
      const options = ["SQLite", "Postgres"].map((label) => ({ label, description: "" }));
      const question = { question: "Which database?", header: "Database", options };
      choosing.release(calls([{ name: "question", args: { questions: [question] } }]));
      await terminal.shows("general · asks: Which database?");
      await terminal.shows("1. SQLite");
      await select("choose");
      await terminal.press("a");
      await terminal.shows("Something else …");
      await terminal.press("Down", "Enter");
      await terminal.shows('Answered the question of "Choose a database"');
      await closeList();
      await model.waitFor(({ messages }) => /Which database\?[\\"]+=[\\"]+Postgres/.test(JSON.stringify(messages)));
      await terminal.shows("✓ Choose a database");
    });

    test("opens the session of a fork, says there where one is, and leads back from it", async () => {
      await openList();
      await select("aloud");
      await terminal.press("Enter");
      await terminal.shows(/^ {2}● Think aloud · ctrl\+x j back · \d running/m);
      await terminal.hides("Search:");
      await openList();
      await terminal.shows("› ● Think aloud");
      await terminal.press("b");
      await terminal.hides("Think aloud · ctrl+x j back");
      await terminal.shows(/Scripted +\d running/);
      thinking.release(text("That is clear now."));
      await terminal.shows("✓ Think aloud");
      await showsEnd("Think aloud");
    });

    test("steers a task at work", async () => {
      await openList();
      await select("keep at it");
      await terminal.press("s");
      await terminal.shows("Steer with an instruction");
      await terminal.type("look at the tests, too");
      await terminal.press("Enter");
      await terminal.shows('Steered "Keep at it"');
      await closeList();
    });

    test("marks all that are listed, and stops what runs of them after one question", { tags: "gate" }, async () => {
      await openList();
      await terminal.press("*");
      await terminal.shows(/Tasks · \d marked/);
      await terminal.press("x");
      // By night, some of them have ended by then.
      await terminal.shows(/Stop (?:\d tasks|"Keep at it")\?/);
      await terminal.press("Right");
      await terminal.shows(/› Stop (?:\d tasks|it)/);
      await terminal.press("Enter");
      await terminal.hides(/\d running/);
      await terminal.shows(/⊘ Keep at it/);
      await closeList();
    });
  });

  describe("opened anew", () => {
    setUp(async () => {
      const end = await open();
      const short = ["one", "two", "three", "four", "five"].map((name) => launching(`end at once: ${name}`));
      model.when("start six", [
        calls([launching("keep at it", { description: "Keep at it" }), ...short]),
        text("started"),
      ]);
      await terminal.submit("start six");
      await terminal.shows(/● Keep at it/);
      await terminal.shows("… 2 more ended");
      return end;
    });

    /** Opens the interface with other arguments, in place of the one that is open. */
    const reopen = async (args: string[], env: TerminalOptions["env"] = {}, meanwhile?: () => Promise<void>) => {
      await terminal.quit();
      await meanwhile?.();
      terminal = await openTerminal({ ...options, env, args: [...args, "--continue"], ready: "Build · M1" });
    };

    /** Has `opencode run` go on with the conversation, launch a task, and end before the task does. */
    const leaveBehind = async (prompt: string) => {
      model.when(`leave ${prompt}`, [
        calls([launching(prompt, { description: "Left behind" })]),
        text("It is at work."),
      ]);
      const { code } = await runOpenCode({ ...options, message: `leave ${prompt}`, args: ["--continue"] });
      expect(code).toBe(0);
    };

    /** Stores as many ended tasks of another conversation as the interface hears of when it starts. */
    const endOthers = () => {
      const { store } = createSharedDatabase(join(home, "data", "opencode-taskchart", "tasks.db")).openAs("other");
      const after = Date.now() - START;
      for (let number = 1; number <= 200; number += 1)
        store.commit(scriptTask(`ses_other_${number}`, { after }).whole());
    };

    test("says at the next start what goes on, what `opencode run` has left behind included, and counts what ended long ago", async () => {
      endOthers();
      await reopen([], {}, () => leaveBehind("keep on alone"));
      await terminal.shows(/2 tasks of this (conversation|directory) go on/);
      await terminal.shows(/… \d+ more ended/);
      await terminal.shows(/Scripted +2 running/);
      await terminal.shows(/● Keep at it/);
      await terminal.shows(/● Left behind/);
    });

    /** Unpacks the file that is published, which is all that others get of the plugin. */
    const unpack = async (): Promise<string> => {
      const repository = fileURLToPath(new URL("../..", import.meta.url));
      const run = promisify(execFile);
      const npm = ["pack", "--ignore-scripts", "--silent", "--pack-destination", home];
      const { stdout } = await run("npm", npm, { cwd: repository });
      await run("tar", ["-xzf", join(home, stdout.trim()), "-C", home]);
      return join(home, "package");
    };

    /** Changes the version in what was unpacked, and returns it as a plugin. */
    const otherVersion = async (folder: string): Promise<string> => {
      const other = `${folder}-other`;
      await cp(folder, other, { recursive: true });
      for (const name of await readdir(join(other, "dist"))) {
        const file = join(other, "dist", name);
        const code = await readFile(file, "utf8");
        if (code.includes(`"${manifest.version}"`))
          await writeFile(file, code.replaceAll(`"${manifest.version}"`, '"99.0.0"'));
      }
      return pathToFileURL(other).href;
    };

    test("works packed, in an interface that is attached, with another version, and finds a server that was restarted", async () => {
      const folder = await unpack();
      options = { ...options, panel: [pathToFileURL(folder).href] };
      const first = await startOpenCode({ ...options, plugins: [await otherVersion(folder)] });
      onTestFinished(() => first.stop());
      const { port } = new URL(first.url);
      await reopen(["attach", first.url]);
      // A task of its own: one whose OpenCode has ended too often is not begun again.
      model.when("start the last", [calls([launching("keep on", { description: "Keep on" })]), text("started")]);
      await terminal.submit("start the last");
      await terminal.shows(/● Keep on/);
      await terminal.shows("99.0.0, and this is");
      await first.kill();
      await terminal.shows("Out of date.");
      const second = await startOpenCode({ ...options, port: Number(port) });
      onTestFinished(() => second.stop());
      await second.client.session.list();
      await terminal.hides("Out of date.");
      await terminal.hides("99.0.0");
      await terminal.shows(/tasks? of this conversation goe?s? on/);
      await terminal.shows(/● Keep on/);
    });

    test("says that it has taken over a task of another OpenCode, which has ended", async () => {
      await reopen([]);
      const other = await startOpenCode(options);
      onTestFinished(() => other.stop());
      const launch = launching("keep on elsewhere", { description: "Keep on elsewhere" });
      model.when("start elsewhere", [calls([launch]), text("started")]);
      const { data: session } = await other.client.session.create({ title: "elsewhere" }, { throwOnError: true });
      const parts = [{ type: "text" as const, text: "start elsewhere" }];
      await other.client.session.promptAsync({ sessionID: session.id, parts }, { throwOnError: true });
      await model.waitFor(inChild("keep on elsewhere"));
      await other.kill();
      await terminal.shows("Took over 1 task of an OpenCode");
    });

    test("says that it does not reach tasks that run on another machine", async () => {
      const server = await startOpenCode(options);
      onTestFinished(() => server.stop());
      const proxy = await startProxy(server.url);
      onTestFinished(() => proxy.stop());
      const env = { HTTP_PROXY: proxy.url, http_proxy: proxy.url, NO_PROXY: undefined, no_proxy: undefined };
      await reopen(["attach", "http://build.example:4096"], env);
      await terminal.shows("Tasks run on another machine");
      await terminal.shows("On build.example,");
    });
  });
});

if (noTerminal !== undefined) test.skip(`not tried: ${noTerminal}`, () => undefined);
