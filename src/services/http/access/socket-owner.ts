import { readFile } from "node:fs/promises";
import { isIPv4, isIPv6 } from "node:net";
import { endianness } from "node:os";

/** One end of a TCP connection. */
export interface Endpoint {
  /** An IPv4 or IPv6 address, the latter without a zone. */
  address: string;
  port: number;
}

/** Both ends of a TCP connection, as the server sees them. There is one object for each connection. */
export interface Endpoints {
  remote: Endpoint;
  local: Endpoint;
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

/** Formats an address as the kernel's tables do: each group of four bytes is a number in the machine's byte order. */
const hexOf = (bytes: number[], isLittleEndian: boolean): string =>
  Array.from({ length: bytes.length / 4 }, (_, word) => {
    const group = bytes.slice(4 * word, 4 * word + 4);
    return (isLittleEndian ? group.reverse() : group).map((byte) => byte.toString(16).padStart(2, "0")).join("");
  })
    .join("")
    .toUpperCase();

/** Formats an end in every way that the tables may. An IPv6 socket that reaches an IPv4 address is in the IPv6 table. */
const spellingsOf = ({ address, port }: Endpoint, isLittleEndian: boolean): string[] => {
  const bytes = isIPv4(address) ? bytesOfIPv4(address) : isIPv6(address) ? bytesOfIPv6(address) : [];
  const isMapped = bytes.length === 16 && MAPPED_PREFIX.every((byte, index) => bytes[index] === byte);
  const ipv4 = isMapped ? bytes.slice(12) : bytes.length === 4 ? bytes : undefined;
  const forms = ipv4 ? [ipv4, [...MAPPED_PREFIX, ...ipv4]] : bytes.length === 16 ? [bytes] : [];
  return forms.map((form) => `${hexOf(form, isLittleEndian)}:${port.toString(16).padStart(4, "0").toUpperCase()}`);
};

/** Positions of columns after the two addresses: state, queues, timer, retransmits, uid, timeout, inode. */
const UID = 4;
const INODE = 6;

/**
 * Returns the user id of the socket at the remote end from a table of the kernel (`/proc/net/tcp`, `/proc/net/tcp6`).
 * Undefined when the table lists no such socket, or only one that no process has open any more. The table lists those
 * with inode 0 and user id 0, which is not their owner's.
 */
export const ownerIn = (
  table: string,
  { remote, local }: Endpoints,
  isLittleEndian = endianness() === "LE",
): number | undefined => {
  const remoteSpellings = spellingsOf(remote, isLittleEndian);
  const localSpellings = spellingsOf(local, isLittleEndian);
  for (const [form, spelling] of remoteSpellings.entries()) {
    // The line of the remote socket begins with the address that is remote to us.
    const addresses = ` ${spelling} ${localSpellings[form]} `;
    for (let at = table.indexOf(addresses); at >= 0; at = table.indexOf(addresses, at + addresses.length)) {
      const lineEnd = table.indexOf("\n", at);
      const columns = table
        .slice(at + addresses.length, lineEnd < 0 ? undefined : lineEnd)
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

/** Sockets come and go while the kernel writes a table, which may miss one: so it is read a second time. */
const READ_ATTEMPTS = 2;

/**
 * Returns the user id of the process at the other end of a connection within this machine; undefined where the system
 * does not report it, as on anything but Linux. Reads one or two files of some 150 bytes per socket, off the event loop.
 */
export const remoteUid = async (endpoints: Endpoints): Promise<number | undefined> => {
  if (process.platform !== "linux") return undefined;
  for (let reading = 0; reading < READ_ATTEMPTS; reading += 1) {
    for (const path of TABLES) {
      const uid = ownerIn(await readFile(path, "latin1").catch(() => ""), endpoints);
      if (uid !== undefined) return uid;
    }
  }
  return undefined;
};

/** Returns the id that the kernel shows in place of user ids that this user namespace does not have. */
const overflowUid = async (): Promise<number> =>
  Number((await readFile("/proc/sys/kernel/overflowuid", "latin1").catch(() => "")).trim() || 65_534);

/** Returns true when the system confirms that the other end of the connection belongs to this process's user. */
export const isOwnConnection = async (endpoints: Endpoints): Promise<boolean> => {
  const own = process.geteuid?.();
  // A user with the overflow id cannot be distinguished from the users that this namespace does not have.
  return own !== undefined && (await remoteUid(endpoints)) === own && own !== (await overflowUid());
};
