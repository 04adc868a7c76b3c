import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Bundles the plugin into one self-contained `dist/index.js` that runs on Bun (the CLI) and Node (the desktop app). */
const root = fileURLToPath(new URL("..", import.meta.url));
rmSync(`${root}/dist`, { recursive: true, force: true });
execFileSync(
  `${root}/node_modules/.bin/bun`,
  ["build", "src/index.ts", "--outdir=dist", "--target=node", "--format=esm"],
  // Without it, libraries with a development build would be bundled as that.
  { cwd: root, stdio: ["ignore", "ignore", "inherit"], env: { ...process.env, NODE_ENV: "production" } },
);
