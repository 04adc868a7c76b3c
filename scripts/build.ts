import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildPage, compressedScriptKB, PAGES } from "./pages.ts";
import { kilobytesLoadedWith } from "./start-code.ts";
import { licencesOf, packagesIn } from "./third-party.ts";

/**
 * Makes the files of `dist`, which need no package but those that OpenCode supplies:
 * - `index.js`: what OpenCode starts
 * - `elisha.js`: what other plugins import that were written for Elisha's task domain
 * - `plugin.js`: the plugin, which those two load when it is needed
 * - `fleet.js`: what `plugin.js` loads where tasks may run on other servers
 * - `cli.js`: the command, of which `fleet` is loaded when it is called
 * - `tui.js`: the panel, which OpenCode's terminal interface starts, on Bun alone; all others run on Bun (OpenCode in a
 *   terminal) and on Node (its desktop app)
 *
 * - `*.d.ts`: their types
 * - `THIRD-PARTY-LICENSES.txt`: the licences of the packages of which they have code
 *
 * What the plugin imports by `import()` (the status API, and Stately's inspector where an option asks for it) becomes a
 * file of its own beside it, which is not read before that; so do the pages.
 *
 * White space is left out and names are kept: a stack trace still says which function failed, and needs no source map.
 */
const root = fileURLToPath(new URL("..", import.meta.url));

/**
 * Kilobytes of code that may be loaded with each file. `index.js` and `elisha.js` are loaded while OpenCode waits. `plugin.js` has 1,052: 220
 * less made it load 19 ms of computing time sooner (measured on a busy machine with 2 cores), so 10 more cost about 1 ms.
 * `cli.js` has 562; what only `fleet` needs, 290 more with the client of NATS, is loaded by that command alone.
 * `tui.js` has 113, and no schema: with those of a task it had 226.
 */
const MAX_KB = { "index.js": 12, "elisha.js": 14, "plugin.js": 1065, "cli.js": 575, "tui.js": 140 };

/** Kilobytes of compressed script that a page may have. The board has 34. */
const MAX_SCRIPT_KB = 80;

/** Where the bundler says what went into each bundle. */
const accounts = mkdtempSync(join(tmpdir(), "taskchart-build-"));
let bundles = 0;
const account = (): string => {
  bundles += 1;
  return join(accounts, `${bundles}.json`);
};

const bundleWith = (how: string[], entry: string, ...where: string[]) =>
  execFileSync(
    `${root}/node_modules/.bin/bun`,
    ["build", entry, ...where, "--target=node", "--format=esm", "--minify-syntax", `--metafile=${account()}`, ...how],
    // Without it, libraries with a development build would be bundled as that.
    { cwd: root, stdio: ["ignore", "ignore", "inherit"], env: { ...process.env, NODE_ENV: "production" } },
  );

const bundle = bundleWith.bind(undefined, ["--minify-whitespace"]);

/**
 * What OpenCode's terminal interface supplies to its plugins; with a second copy of them nothing is drawn. It finds their
 * names in the code by patterns that expect the white space (seen).
 */
const fromHost = ["@opentui/core", "@opentui/solid", "solid-js"].map((name) => `--external=${name}`);

rmSync(`${root}/dist`, { recursive: true, force: true });
bundle("src/index.ts", "--outfile=dist/index.js");
bundle("src/elisha.ts", "--outfile=dist/elisha.js");
bundle("src/plugin.ts", "src/fleet.ts", "--outdir=dist", "--splitting");
bundle(
  "src/cli/main.ts",
  "--outdir=dist",
  "--splitting",
  "--entry-naming=cli.js",
  "--chunk-naming=cli-[name]-[hash].js",
);
bundleWith(fromHost, "src/tui/index.ts", "--outfile=dist/tui.js");
chmodSync(`${root}/dist/cli.js`, 0o755);
for (const page of PAGES) {
  const html = buildPage(page, account);
  const kilobytes = compressedScriptKB(html);
  if (kilobytes > MAX_SCRIPT_KB) {
    throw new Error(
      `The scripts of the page ${page} have ${kilobytes.toFixed(0)} kB compressed, and at most ${MAX_SCRIPT_KB} are allowed.`,
    );
  }
  writeFileSync(`${root}/dist/${page}.html`, html);
}

cpSync(`${root}/scripts/types`, `${root}/dist`, { recursive: true });
const bundled = readdirSync(accounts).flatMap((file) => packagesIn(join(accounts, file)));
writeFileSync(`${root}/dist/THIRD-PARTY-LICENSES.txt`, licencesOf(bundled));
rmSync(accounts, { recursive: true });

for (const [file, most] of Object.entries(MAX_KB)) {
  const kilobytes = kilobytesLoadedWith(`${root}/dist/${file}`);
  if (kilobytes > most) {
    throw new Error(
      `With ${file}, ${kilobytes.toFixed(0)} kB of code are loaded, and at most ${most} may be: import what it does not need by import(), where it is needed.`,
    );
  }
}
