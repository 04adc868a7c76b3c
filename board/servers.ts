// ADR-259 in docs/decisions.md
import type { Servers } from "../src/services/http/contract/schemas.ts";
import { readServers } from "./api.ts";
import { readToken } from "./token.ts";

type Server = Servers["servers"][number];

/** The servers as the one that the page is connected to last named them, each with a challenge and its answer. */
let known: readonly Server[] = [];
const listeners = new Set<() => void>();

/** Milliseconds in which a server has to answer a challenge. */
const PROOF_TIMEOUT_MS = 3_000;

/** The servers of all OpenCode processes, as far as the page knows. */
export const knownServers = (): readonly Server[] => known;

/** Calls the listener when the servers are read anew; returns a function that removes it. */
export const onServers = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => void listeners.delete(listener);
};

/** Reads which servers there are. They are kept when they cannot be read. */
export const learnServers = async (signal: AbortSignal): Promise<void> => {
  known = (await readServers(signal)).servers;
  for (const listener of listeners) listener();
};

/** True when who listens there is OpenCode, and not a program that has taken its port. It is sent nothing but the challenge. */
const isProven = async ({ challenge, proof }: Server, origin: string): Promise<boolean> => {
  try {
    const signal = AbortSignal.timeout(PROOF_TIMEOUT_MS);
    const answer = await fetch(`${origin}/v1/health?challenge=${challenge}`, { signal, credentials: "omit" });
    const body: unknown = await answer.json();
    return typeof body === "object" && body !== null && "proof" in body && body.proof === proof;
  } catch {
    return false;
  }
};

/**
 * Finds a server to go on with when the connection is lost: the page's own, if that is there again; or else another one, whose
 * page is opened in place of this, with the token that all of them have.
 * @returns true where the page's own is there
 */
export const findServerAgain = async (): Promise<boolean> => {
  const own = known.find(({ isThis }) => isThis);
  // Since it was opened, the page has been told of none: it knows nothing that it could lose.
  if (known.length === 0) return true;
  if (own && (await isProven(own, location.origin))) return true;
  for (const other of known) {
    if (other.isThis || !(await isProven(other, other.url))) continue;
    const token = readToken();
    const hash = token === undefined ? "" : `#token=${token}`;
    location.replace(`${other.url}${location.pathname}${location.search}${hash}`);
    return false;
  }
  return false;
};
