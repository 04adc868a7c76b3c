// `/v1/health` tells everybody the pid of a server, so another user's program could stand in for one that was killed. A key
// that only the owner of the data folder can read proves that it is not (docs/decisions/259-servers-prove-themselves.md).
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { makePrivateFolder, writeWhole } from "./private-files.ts";

/** The form of a challenge, and of what `newChallenge` makes. */
export const CHALLENGE = /^[\w-]{16,128}$/;

/** Characters of a key: 32 random bytes in base64url. */
const KEY = /^[\w-]{43}$/;

/** What a server answers a challenge with. */
interface Challenge {
  /** The port that the server listens at. It is part of the proof, so that a proof cannot be passed on to another port. */
  port: number;
  challenge: string;
}

/** Returns a random challenge, which nobody has seen before. */
export const newChallenge = (): string => randomBytes(24).toString("base64url");

/** Returns a proof that the server at that port can read the key. It reveals nothing about the key. */
export const proofOf = (key: string, { port, challenge }: Challenge): string =>
  createHmac("sha256", key).update(`opencode-taskchart ${port} ${challenge}`).digest("base64url");

/** True for the proof that answers the challenge. */
export const isProof = (given: unknown, key: string, challenge: Challenge): boolean => {
  if (typeof given !== "string") return false;
  const [one, other] = [Buffer.from(given), Buffer.from(proofOf(key, challenge))];
  return one.length === other.length && timingSafeEqual(one, other);
};

const fileIn = (folder: string): string => join(folder, "server-key");

/**
 * Returns the key of a data folder, which its owner alone can read; undefined where there is none.
 * @throws Error where it cannot be read
 */
export const readServerKey = (folder: string): string | undefined => {
  try {
    const key = readFileSync(fileIn(folder), "utf8").trim();
    return KEY.test(key) ? key : undefined;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
};

/** Returns the key of a data folder, and makes it first where there is none. @throws Error where it cannot be written */
export const ensureServerKey = (folder: string): string => {
  const key = readServerKey(folder);
  if (key !== undefined) return key;
  makePrivateFolder(folder);
  const file = fileIn(folder);
  writeWhole(file, randomBytes(32).toString("base64url"));
  // Another process may have made one at the same time: the last one counts.
  return readServerKey(folder) ?? ensureServerKey(folder);
};
