import { gunzipSync, gzipSync } from "node:zlib";

/**
 * Characters that the patch of a task may have in a message. NATS takes messages of 1 MB, unless it is told otherwise, and
 * the result needs room as well.
 */
const MOST = 500_000;

/** The most bytes that a patch is unpacked to: what claims to be more is no patch of a task. */
const MOST_UNPACKED = 100_000_000;

/** Returns a patch as it is sent; undefined where it is too large for that. A patch may hold any bytes. */
export const packPatch = (patch: Uint8Array): string | undefined => {
  const packed = gzipSync(patch).toString("base64");
  return packed.length > MOST ? undefined : packed;
};

/** Returns what `packPatch` packed. @throws Error for anything else */
export const unpackPatch = (packed: string): Uint8Array =>
  gunzipSync(Buffer.from(packed, "base64"), { maxOutputLength: MOST_UNPACKED });
