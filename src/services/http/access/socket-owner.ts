import { readFile } from "node:fs/promises";
import { isIPv4 } from "node:net";
import { endianness } from "node:os";

/** One end of a TCP connection over IPv4, as all are that come in at the loopback address that servers of ours listen at. */
export interface Endpoint {
  /** An IPv4 address, also as IPv6 writes it: `::ffff:127.0.0.1`. */
  address: string;
  port: number;
}

/** Both ends of a TCP connection, as the server sees them. There is one object for each connection. */
export interface Endpoints {
  remote: Endpoint;
  local: Endpoint;
}

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, "0").toUpperCase();

/**
 * Formats an end as the kernel's tables do, without and with the prefix of an IPv6 socket that reaches an IPv4 address: each
 * group of four bytes is a number in the machine's byte order. Undefined for another address.
 */
const spellingsOf = (
  { address, port }: Endpoint,
  isLittleEndian: boolean,
): [ipv4: string, mapped: string] | undefined => {
  const ipv4 = address.replace(/^::ffff:/i, "");
  if (!isIPv4(ipv4)) return undefined;
  const inOrder = (bytes: number[]) =>
    (isLittleEndian ? bytes.toReversed() : bytes).map((byte) => hex(byte, 2)).join("");
  const end = `${inOrder(ipv4.split(".").map(Number))}:${hex(port, 4)}`;
  return [end, `${"0".repeat(16)}${inOrder([0, 0, 0xff, 0xff])}${end}`];
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
  const [ours, theirs] = [spellingsOf(local, isLittleEndian), spellingsOf(remote, isLittleEndian)];
  if (!ours || !theirs) return undefined;
  for (const form of [0, 1] as const) {
    // The line of the remote socket begins with the address that is remote to us.
    const addresses = ` ${theirs[form]} ${ours[form]} `;
    for (let at = table.indexOf(addresses); at >= 0; at = table.indexOf(addresses, at + 1)) {
      const [line = ""] = table.slice(at + addresses.length).split("\n", 1);
      const { [UID]: uid = "", [INODE]: inode = "0" } = line.trim().split(/ +/);
      if (/^\d+$/.test(uid) && inode !== "0") return Number(uid);
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
