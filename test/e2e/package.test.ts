import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { commitPackage } from "../../scripts/release-branch.ts";
import { lookInstalled, newHome, prepareHome, removeHome } from "./lab/home.ts";
import { type Lab, startLab } from "./lab/lab.ts";
import { executable } from "./lab/opencode-process.ts";
import { type Registry, startRegistry } from "./lab/registry.ts";
import { calls, text } from "./lab/reply.ts";
import { type ScriptedModel, startModel } from "./lab/scripted-model.ts";
import { setUp } from "./lab/set-up.ts";
import { noTerminal, openTerminal } from "./lab/terminal.ts";
import { inChild, launchFrom, launching, notified } from "./tasks-and-notices.ts";

const run = promisify(execFile);
const repository = fileURLToPath(new URL("../..", import.meta.url));

let model: ScriptedModel;
let folder: string;
/** The ways to name the package. */
let specs: Record<"by name" | "packed" | "unpacked" | "git", string>;
let registry: Registry;
/** In these tests OpenCode reads the files that `opencode plugin` writes, and asks a registry of this machine. */
let env: Record<string, string | undefined>;

setUp(async () => {
  model = await startModel();
  folder = await newHome();
  const npm = ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder];
  const { stdout } = await run("npm", npm, { cwd: repository });
  const packed = join(folder, stdout.trim());
  await run("tar", ["-xzf", packed, "-C", folder]);
  const unpacked = join(folder, "package");
  const size = (await stat(packed)).size;
  console.info(
    `packed: ${Math.round(size / 1_000)} kB, ${(await readdir(join(unpacked, "dist"))).length} files in dist`,
  );

  const git = join(folder, "repository");
  await mkdir(git);
  await run("git", ["init", "--quiet"], { cwd: git });
  await run("git", ["config", "user.name", "a test"], { cwd: git });
  await run("git", ["config", "user.email", "test@localhost"], { cwd: git });
  await run("git", ["commit", "--quiet", "--allow-empty", "--message", "Begin"], { cwd: git });
  const copy = join(folder, "released");
  await run("cp", ["-r", unpacked, copy]);
  commitPackage(git, copy, "release");
  registry = await startRegistry(packed, JSON.parse(await readFile(join(unpacked, "package.json"), "utf8")));
  env = { OPENCODE_DISABLE_PROJECT_CONFIG: undefined, npm_config_registry: registry.url };
  specs = {
    "by name": "opencode-taskchart",
    packed: `opencode-taskchart@file:${packed}`,
    unpacked: pathToFileURL(unpacked).href,
    git: `opencode-taskchart@git+file://${git}#release`,
  };
  return async () => {
    await model.stop();
    registry.stop();
    await removeHome(folder);
  };
});

/** Installs the package as a user does, into a fresh OpenCode. Returns its home. */
const install = async (spec: string): Promise<string> => {
  const home = await newHome();
  onTestFinished(() => removeHome(home));
  const prepared = await prepareHome({ modelURL: model.url, plugins: [], home, env });
  await run(executable, ["plugin", spec], { cwd: prepared.project, env: prepared.env });
  await lookInstalled(join(prepared.project, ".opencode"));
  for (const file of ["opencode.json", "tui.json"]) {
    const written = await readFile(join(prepared.project, ".opencode", file), "utf8");
    expect(JSON.parse(written), file).toEqual({ plugin: [spec] });
  }
  return home;
};

const expectOneTask = async (lab: Lab, prompt: string) => {
  const parent = await lab.session();
  model.when(inChild(prompt), text("Seven."));
  const ids = await launchFrom(lab, parent, [prompt]);
  const notices = await notified(lab, parent, ids);
  expect(notices).toHaveLength(1);
  expect(notices[0]?.hidden).toContain("> Seven.");
};

describe.each(["by name", "packed", "unpacked", "git"] as const)("installed by `opencode plugin`, %s", (how) => {
  test("the package runs a task, and OpenCode logs no error of it", {
    tags: how === "packed" ? ["gate"] : [],
  }, async () => {
    const home = await install(specs[how]);
    const lab = await startLab({ home, model, plugin: "none", env });
    onTestFinished(lab.stop);
    await expectOneTask(lab, `count the files, ${how}`);
    const errors = lab.opencode
      .log()
      .split("\n")
      .filter((line) => /ERROR/.test(line) && /plugin|taskchart/.test(line));
    expect(errors).toEqual([]);
  });
});

// Of a packed file and of a git URL, OpenCode 1.18.33 starts the tools and not the panel.
describe.skipIf(noTerminal !== undefined).each(["by name", "unpacked"] as const)(
  "installed by `opencode plugin`, %s",
  (how) => {
    test("the panel shows a task", async () => {
      const home = await install(specs[how]);
      model.when("have them counted", [calls([launching("count the folders")]), text("launched")]);
      model.when(inChild("count the folders"), text("Two."));
      const size = { columns: 150, rows: 44 };
      const terminal = await openTerminal({ modelURL: model.url, plugins: [], home, env, size });
      onTestFinished(() => terminal.kill());
      await terminal.submit("have them counted");
      await terminal.shows(/✓ about count the folders/);
    });
  },
);

test("named in opencode.json alone, with options, the package runs a task", async () => {
  const lab = await startLab({ model, plugin: [specs.packed, { prefix: "tasks" }] });
  onTestFinished(lab.stop);
  const parent = await lab.session();
  model.when(inChild("count the lines"), text("Many."));
  const call = { ...launching("count the lines"), name: "tasks_task" };
  model.when("have the lines counted", [calls([call]), text("launched")]);
  await lab.ask(parent, "have the lines counted");
  const { sessionID } = await model.waitFor(inChild("count the lines"));
  expect(await notified(lab, parent, [sessionID])).toHaveLength(1);
});

test("unpacked, the package is loaded on Node, with nothing beside it", { tags: "gate" }, async () => {
  const code = `
    const { default: plugin } = await import(${JSON.stringify(`${specs.unpacked}/dist/index.js`)});
    const client = { tui: { showToast: async () => {} }, app: { log: async () => {} } };
    const hooks = await plugin.server({ client, directory: process.cwd(), project: {}, worktree: "/" });
    console.log(JSON.stringify({ id: plugin.id, hooks: Object.keys(hooks) }));
    process.exit();`;
  const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", code], {
    cwd: folder,
    env: { ...process.env, XDG_DATA_HOME: folder },
  });
  expect(JSON.parse(stdout)).toEqual({ id: "opencode-taskchart", hooks: expect.arrayContaining(["tool", "event"]) });
});

test("unpacked, the command has what `fleet` needs, with nothing beside it", async () => {
  const cli = join(folder, "package", "dist", "cli.js");
  const fleet = run(process.execPath, [cli, "fleet", "status", "--url", "nats://127.0.0.1:1"], { cwd: folder });
  await expect(fleet).rejects.toMatchObject({
    code: 4,
    stderr: expect.stringContaining("No NATS server can be reached at nats://127.0.0.1:1"),
  });
});

test("the package has types, its licence and those of the code that it bundles", () => {
  const read = (file: string) => readFileSync(join(folder, "package", file), "utf8");
  const manifest = JSON.parse(read("package.json"));
  expect(manifest.engines.opencode).toBe(">=1.18.29 <2");
  expect(manifest.dependencies).toBeUndefined();
  expect(read("dist/index.d.ts")).toContain("export default plugin");
  expect(read("LICENSE")).toContain("MIT License");
  const licences = read("dist/THIRD-PARTY-LICENSES.txt");
  for (const name of ["xstate", "zod", "hono", "ajv", "preact", "commander"]) {
    expect(licences).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(MIT\\)$`, "m"));
  }
  expect(licences).toMatch(/^@nats-io\/jetstream \d+\.\d+\.\d+ \(Apache-2\.0\)$/m);
});
