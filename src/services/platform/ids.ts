import { customAlphabet } from "nanoid";
import type { Clock } from "./clock.ts";

/** Creates ids for messages and parts. Each new id sorts after all earlier ones, the host's as well as ours. */
export interface Ids {
  message(): string;
  /** Returns ids for the parts of one message. The host keeps parts in the order of their ids, which must be unique in it. */
  parts(count: number): string[];
}

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

const random = customAlphabet(ALPHABET);

/** Ends the id of each message that this plugin writes. One of the host's has it once in 15 million times. */
const OWN_MARK = "Task";

/** True for the id of a message that this plugin wrote: a prompt, an instruction, a notice or a note. */
export const isOwnMessageID = (messageID: string): boolean => messageID.endsWith(OWN_MARK);

/**
 * Creates the generator of ids, in the host's own layout: 48 bits of (milliseconds × 4096 + count) in hexadecimal, then 14
 * random characters. The layout matters because the host sorts messages by time and then by id, and concludes from their
 * order whether a prompt has been answered. The id of a message ends in a mark of ours, in place of random characters: so the
 * id of a prompt alone shows that this plugin wrote it.
 */
export const createIds = (clock: Clock): Ids => {
  let last = 0n;
  const timestamp = (): string => {
    const now = BigInt(clock.now()) * 4096n;
    last = now > last ? now : last + 1n;
    return (last & 0xffff_ffff_ffffn).toString(16).padStart(12, "0");
  };
  return {
    message: () => `msg_${timestamp()}${random(14 - OWN_MARK.length)}${OWN_MARK}`,
    parts: (count) => {
      const tail = random(10);
      const head = timestamp();
      return Array.from({ length: count }, (_, index) => `prt_${head}${String(index).padStart(4, "0")}${tail}`);
    },
  };
};
