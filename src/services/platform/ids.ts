import { randomBytes } from "node:crypto";
import type { Clock } from "./clock.ts";

/** Makes the ids of messages and parts. Each id sorts after all that came before it, ours and the host's alike. */
export interface Ids {
  message(): string;
  /** Ids for the parts of one message: parts are stored in the order of their ids, and are unique in the whole host. */
  parts(count: number): string[];
}

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

const random = (length: number): string => {
  let text = "";
  for (const byte of randomBytes(length)) text += ALPHABET[byte % ALPHABET.length];
  return text;
};

/**
 * Ids in the host's own layout: 48 bits of (milliseconds × 4096 + count) in hexadecimal, then 14 random characters.
 * The host orders messages by time and then by id, and tells from the order whether a prompt is answered.
 */
export const createIds = (clock: Clock): Ids => {
  let last = 0n;
  const stem = (): string => {
    const now = BigInt(clock.now()) * 4096n;
    last = now > last ? now : last + 1n;
    return (last & 0xffff_ffff_ffffn).toString(16).padStart(12, "0");
  };
  return {
    message: () => `msg_${stem()}${random(14)}`,
    parts: (count) => {
      const tail = random(10);
      const head = stem();
      return Array.from({ length: count }, (_, index) => `prt_${head}${String(index).padStart(4, "0")}${tail}`);
    },
  };
};
