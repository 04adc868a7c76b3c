import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { type Authenticator, credsAuthenticator, nkeyAuthenticator } from "@nats-io/transport-node";

/** Reads a NATS credentials file. `~/` is the user's home. @throws Error that names the file */
export const readCredentials = (path: string): Uint8Array =>
  readFileSync(path.startsWith("~/") ? join(homedir(), path.slice(2)) : path);

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
