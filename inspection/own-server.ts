// A port says nothing about who listens at it, so the page's server proves itself before the browser connects again
// (docs/decisions/259-servers-prove-themselves.md).
import { isProven, type NamedServer } from "../src/client/page-servers.ts";
import { find } from "./element.ts";

/** Milliseconds before the next attempt. A browser retries by itself after a stream broke off, but not after it was refused. */
const RETRY_MS = 2_000;

/**
 * True when the page's own server listens at its address. It is known by what the servers named last say of it, or else by the
 * challenge and the answer in the page itself: it may end before it has named any.
 */
export const isOwnServerThere = (servers: readonly NamedServer[] = []): Promise<boolean> => {
  const [challenge = "", proof = ""] = find<HTMLMetaElement>('meta[name="proof"]').content.split(" ");
  return isProven(servers.find(({ isThis }) => isThis) ?? { challenge, proof }, location.origin);
};

/**
 * Waits until the page's own server listens at its address again, after a connection was lost: a browser would send anybody
 * there the password that it knows.
 */
export const ownServerIsBack = async (servers: readonly NamedServer[] = []): Promise<void> => {
  do await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  while (!(await isOwnServerThere(servers)));
};
