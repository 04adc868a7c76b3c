import type { Servers } from "../src/services/http/contract/schemas.ts";
import { find } from "./element.ts";

// A port says nothing about who listens at it, so the page's server proves itself before the browser connects again
// (docs/decisions/259-servers-prove-themselves.md).

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

// Why servers prove themselves: docs/decisions/259-servers-prove-themselves.md

/** A server as another one names it to a page: with a challenge, and what it answers to that. A page cannot read the key itself. */
export type NamedServer = Servers["servers"][number];

/** Milliseconds in which a server has to answer a challenge. */
const PROOF_TIMEOUT_MS = 3_000;

/**
 * True when who listens there is OpenCode, and not a program that has taken its port. It is sent nothing but the challenge. For
 * pages: it needs `fetch` alone.
 * @param origin where the server is to be
 */
export const isProven = async (
  { challenge, proof }: Pick<NamedServer, "challenge" | "proof">,
  origin: string,
): Promise<boolean> => {
  try {
    const signal = AbortSignal.timeout(PROOF_TIMEOUT_MS);
    const answer = await fetch(`${origin}/v1/health?challenge=${challenge}`, { signal, credentials: "omit" });
    const body: unknown = await answer.json();
    return typeof body === "object" && body !== null && "proof" in body && body.proof === proof;
  } catch {
    return false;
  }
};
