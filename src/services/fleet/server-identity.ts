import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The name of the file, in the folder of the plugin's data. */
const FILE = "fleet-server";

const ID = /^srv_[0-9a-f]{12}$/;

/** Returns an id that no server has. */
export const newServerId = (): string => `srv_${randomUUID().replaceAll("-", "").slice(0, 12)}`;

/**
 * Returns the id of this server in its fleet, which it keeps in a file from its first start on: tasks that it launched are
 * known by it. Two servers with the same id would take each other's results, so whoever copies the folder leaves it out.
 * @throws Error where the file cannot be read or written, or says something else
 */
export const serverIdentity = (folder: string): string => {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, FILE);
  const fresh = newServerId();
  try {
    writeFileSync(file, `${fresh}\n`, { flag: "wx", mode: 0o600 });
    return fresh;
  } catch (error) {
    const isThere = error instanceof Error && "code" in error && error.code === "EEXIST";
    if (!isThere) throw error;
  }
  const id = readFileSync(file, "utf8").trim();
  if (!ID.test(id)) throw new Error(`${file} has no server's id: remove it, and a new one is made.`);
  return id;
};
