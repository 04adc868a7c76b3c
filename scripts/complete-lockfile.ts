import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/**
 * Completes `package-lock.json` after an `npm install`.
 *
 * Tools with a binary name one optional package per platform. npm leaves those out of the lock that it could not look up
 * (some registries hold only some platforms), and then `npm ci` refuses the lock as out of step. What is missing is added
 * here by name, version and platform, so that a machine of another kind never asks for it.
 */
interface Entry {
  version?: string;
  dev?: boolean;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  license?: string;
  optionalDependencies?: Record<string, string>;
}

const SYSTEMS = ["android", "darwin", "freebsd", "linux", "openharmony", "win32", "windows", "wasm32", "aix", "netbsd"];
const PROCESSORS: Record<string, string> = { aarch64: "arm64" };

const platformOf = (name: string): Pick<Entry, "os" | "cpu" | "libc"> => {
  const words = name.split(/[/-]/);
  const system = words.find((word) => SYSTEMS.includes(word)) ?? "none";
  const processor = words[words.indexOf(system) + 1] ?? "none";
  return {
    cpu: [PROCESSORS[processor] ?? processor],
    ...(words.includes("musl") ? { libc: ["musl"] } : words.includes("gnu") ? { libc: ["glibc"] } : {}),
    os: [system === "windows" ? "win32" : system],
  };
};

const path = fileURLToPath(new URL("../package-lock.json", import.meta.url));
const lock = JSON.parse(readFileSync(path, "utf8")) as { packages: Record<string, Entry> };
const wanted = Object.values(lock.packages).flatMap(({ optionalDependencies, dev }) =>
  Object.entries(optionalDependencies ?? {}).map(([name, version]) => ({ name, version, dev })),
);
const added: string[] = [];
for (const { name, version, dev } of wanted) {
  const key = `node_modules/${name}`;
  if (Object.keys(lock.packages).some((known) => known === key || known.endsWith(`/${key}`))) continue;
  lock.packages[key] = {
    version: version.replace(/^[^\d]*/, ""),
    ...platformOf(name),
    ...(dev ? { dev } : {}),
    optional: true,
  };
  added.push(name);
}
const packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)));
if (added.length > 0) writeFileSync(path, `${JSON.stringify({ ...lock, packages }, null, 2)}\n`);
process.stdout.write(`package-lock.json: ${added.length} packages of other platforms added\n`);
