// Why servers prove themselves: docs/decisions/259-servers-prove-themselves.md
import type { Servers } from "../services/http/contract/schemas.ts";

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
