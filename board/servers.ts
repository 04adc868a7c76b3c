// Another user's program may listen at the port of an OpenCode that has ended, so the page asks a server for proof before
// it sends the token (docs/decisions/259-servers-prove-themselves.md).
import { isOwnServerThere, isProven, type NamedServer } from "../inspection/own-server.ts";
import { readServers } from "./api.ts";
import { readToken } from "./token.ts";

/** The servers as the one that the page is connected to last named them, each with a challenge and its answer. */
let known: readonly NamedServer[] = [];
const listeners = new Set<() => void>();

/** The servers of all OpenCode processes, as far as the page knows. */
export const knownServers = (): readonly NamedServer[] => known;

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

/**
 * Finds a server to go on with when the connection is lost: the page's own, if that is there again; or else another one, whose
 * page is opened in place of this, with the token that all of them have.
 * @returns true where the page's own is there
 */
export const findServerAgain = async (): Promise<boolean> => {
  if (await isOwnServerThere(known)) return true;
  for (const other of known) {
    if (other.isThis || !(await isProven(other, other.url))) continue;
    const token = readToken();
    const hash = token === undefined ? "" : `#token=${token}`;
    location.replace(`${other.url}${location.pathname}${location.search}${hash}`);
    return false;
  }
  return false;
};
