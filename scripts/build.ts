import { execFileSync } from "node:child_process";
import { chmodSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { buildPage, PAGES } from "./pages.ts";

/**
 * Bundles the plugin into `dist/index.js`, and its command into `dist/cli.js`. Both run on Bun (the CLI) and Node (the
 * desktop app), and need no other package. What the plugin imports only when an option asks for it (Stately's inspector,
 * with six packages below it) becomes a file of its own beside it, which is not read before that; so do the pages.
 */
const root = fileURLToPath(new URL("..", import.meta.url));

const bundle = (entry: string, ...where: string[]) =>
  execFileSync(
    `${root}/node_modules/.bin/bun`,
    ["build", entry, ...where, "--target=node", "--format=esm"],
    // Without it, libraries with a development build would be bundled as that.
    { cwd: root, stdio: ["ignore", "ignore", "inherit"], env: { ...process.env, NODE_ENV: "production" } },
  );

rmSync(`${root}/dist`, { recursive: true, force: true });
bundle("src/index.ts", "--outdir=dist", "--splitting");
bundle("src/cli/main.ts", "--outfile=dist/cli.js");
chmodSync(`${root}/dist/cli.js`, 0o755);
for (const page of PAGES) writeFileSync(`${root}/dist/${page}.html`, buildPage(page));
