import { readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { type Authenticator, credsAuthenticator, nkeyAuthenticator } from "@nats-io/transport-node";

/** The rights of all who are not the file's owner. */
const OTHERS = 0o077;

/**
 * Reads a NATS credentials file. `~/` is the user's home.
 * @throws Error where it cannot be read, or others may read it as well: who has it can run commands on the fleet's servers
 */
export const readCredentials = (path: string): Uint8Array => {
  const file = path.startsWith("~/") ? join(homedir(), path.slice(2)) : path;
  // Windows has no such rights, and says that everybody has them.
  if (process.platform !== "win32" && (statSync(file).mode & OTHERS) !== 0)
    throw new Error(`others than its owner may read ${path}: chmod 600 ${path}`);
  return readFileSync(file);
};

/** The seed of a user's NKey, alone. */
const SEED = /^\s*(SU[A-Z2-7]{56})\s*$/;

/**
 * Returns how a server shows that it belongs to the fleet: by a credentials file of NATS, or by one that holds the seed of an
 * NKey alone.
 * @throws Error where the file holds neither
 */
export const authenticatorOf = (credentials: Uint8Array): Authenticator => {
  const [, seed] = SEED.exec(new TextDecoder().decode(credentials)) ?? [];
  const authenticator = seed ? nkeyAuthenticator(new TextEncoder().encode(seed)) : credsAuthenticator(credentials);
  // Throws where the file holds none: a NATS server that wants none would not ask for them.
  authenticator("");
  return authenticator;
};
