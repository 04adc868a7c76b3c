import { readFile } from "node:fs/promises";
import { isIPv4, isIPv6 } from "node:net";
import { endianness } from "node:os";

/** One end of a TCP connection. */
export interface End {
  /** An IPv4 or IPv6 address, the latter without a zone. */
  address: string;
  port: number;
}

/** A TCP connection, as the server sees it. The same object stands for the same connection. */
export interface Ends {
  remote: End;
  local: End;
}

const bytesOfIPv4 = (address: string): number[] => address.split(".").map(Number);

const MAPPED_PREFIX = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

const bytesOfIPv6 = (address: string): number[] => {
  const words = (part: string): number[] =>
    part === ""
      ? []
      : part.split(":").flatMap((word) => {
          if (isIPv4(word)) return bytesOfIPv4(word);
          const value = Number.parseInt(word, 16);
          return [value >> 8, value & 0xff];
        });
  const [head = "", tail] = address.split("::");
  if (tail === undefined) return words(head);
  const [first, last] = [words(head), words(tail)];
  return [...first, ...Array<number>(Math.max(0, 16 - first.length - last.length)).fill(0), ...last];
};

/** An address as the kernel's tables spell it: each group of four bytes is a number in the machine's own byte order. */
const hexOf = (bytes: number[], isLittleEndian: boolean): string =>
  Array.from({ length: bytes.length / 4 }, (_, word) => {
    const group = bytes.slice(4 * word, 4 * word + 4);
    return (isLittleEndian ? group.reverse() : group).map((byte) => byte.toString(16).padStart(2, "0")).join("");
  })
    .join("")
    .toUpperCase();

/** All spellings of an end. A program may reach an IPv4 address by an IPv6 socket: that one is in the other table. */
const spellingsOf = ({ address, port }: End, isLittleEndian: boolean): string[] => {
  const bytes = isIPv4(address) ? bytesOfIPv4(address) : isIPv6(address) ? bytesOfIPv6(address) : [];
  const isMapped = bytes.length === 16 && MAPPED_PREFIX.every((byte, index) => bytes[index] === byte);
  const ipv4 = isMapped ? bytes.slice(12) : bytes.length === 4 ? bytes : undefined;
  const forms = ipv4 ? [ipv4, [...MAPPED_PREFIX, ...ipv4]] : bytes.length === 16 ? [bytes] : [];
  return forms.map((form) => `${hexOf(form, isLittleEndian)}:${port.toString(16).padStart(4, "0").toUpperCase()}`);
};

/** Where columns stand after the two addresses: state, queues, timer, retransmits, uid, timeout, inode. */
const UID = 4;
const INODE = 6;

/**
 * The user id of the socket at the remote end, as a table of the kernel (`/proc/net/tcp`, `/proc/net/tcp6`) has it.
 * Undefined when the table does not say: it has no such socket, or only one that no process has open any more. Such a
 * socket stands there with inode 0 and the user id 0, which is nobody's.
 */
export const ownerIn = (
  table: string,
  { remote, local }: Ends,
  isLittleEndian = endianness() === "LE",
): number | undefined => {
  const theirs = spellingsOf(remote, isLittleEndian);
  const ours = spellingsOf(local, isLittleEndian);
  for (const [form, their] of theirs.entries()) {
    // At their end, the local address is what is remote to us.
    const ends = ` ${their} ${ours[form]} `;
    for (let at = table.indexOf(ends); at >= 0; at = table.indexOf(ends, at + ends.length)) {
      const lineEnd = table.indexOf("\n", at);
      const columns = table
        .slice(at + ends.length, lineEnd < 0 ? undefined : lineEnd)
        .trim()
        .split(/ +/);
      const uid = columns[UID];
      if (uid !== undefined && /^\d+$/.test(uid) && columns[INODE] !== undefined && columns[INODE] !== "0") {
        return Number(uid);
      }
    }
  }
  return undefined;
};

const TABLES = ["/proc/net/tcp", "/proc/net/tcp6"] as const;

/** The kernel writes a table while sockets come and go, and may leave one out: so it is read a second time. */
const READINGS = 2;

/**
 * The user id of whoever opened the other end of a connection within this machine; undefined where the system does not
 * tell, as on anything but Linux. Costs a reading of one or two files of some 150 bytes a socket, off the event loop.
 */
export const remoteUid = async (ends: Ends): Promise<number | undefined> => {
  if (process.platform !== "linux") return undefined;
  for (let reading = 0; reading < READINGS; reading += 1) {
    for (const path of TABLES) {
      const uid = ownerIn(await readFile(path, "latin1").catch(() => ""), ends);
      if (uid !== undefined) return uid;
    }
  }
  return undefined;
};

/** What the kernel shows in place of every user id that a user namespace does not have. */
const overflowUid = async (): Promise<number> =>
  Number((await readFile("/proc/sys/kernel/overflowuid", "latin1").catch(() => "")).trim() || 65_534);

/** True when the other end of the connection belongs to the user that this process runs as, as far as the system tells. */
export const isOwnConnection = async (ends: Ends): Promise<boolean> => {
  const own = process.geteuid?.();
  // Somebody of that id cannot be told from those whose ids are not known here.
  return own !== undefined && (await remoteUid(ends)) === own && own !== (await overflowUid());
};
