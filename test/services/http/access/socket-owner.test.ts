import { connect, createServer } from "node:net";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import {
  type Endpoint,
  type Endpoints,
  ownerIn,
  remoteUid,
} from "../../../../src/services/http/access/socket-owner.ts";

const HEAD =
  "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode                                                     ";

/** Formats a line as the kernel does. */
const line = (local: string, remote: string, { uid = 1_000, inode = 4_711, number = 0 } = {}): string =>
  `${String(number).padStart(4)}: ${local} ${remote} 01 00000000:00000000 00:00000000 00000000 ${String(uid).padStart(5)}        0 ${inode} 1 0000000000000000 20 4 30 10 -1                     `;

const table = (...lines: string[]): string => `${[HEAD, ...lines].join("\n")}\n`;

const loopback = (port: number): Endpoint => ({ address: "127.0.0.1", port });
const ENDS: Endpoints = { remote: loopback(51_234), local: loopback(5_165) };

const THEIRS = "0100007F:C822";
const OURS = "0100007F:142D";
const MAPPED = "0000000000000000FFFF0000";

test("the user comes from the line of the other end, not of this end or of another connection", () => {
  const lines = [
    line(OURS, "00000000:0000", { uid: 1 }),
    line(OURS, THEIRS, { uid: 2 }),
    line("0100007F:C823", OURS, { uid: 3 }),
    line(THEIRS, "0100007F:142E", { uid: 4 }),
    line(THEIRS, OURS, { uid: 5 }),
  ];
  expect(ownerIn(table(...lines), ENDS, true)).toBe(5);
  expect(ownerIn(table(...lines.slice(0, -1)), ENDS, true)).toBeUndefined();
});

test("an IPv6 socket on an IPv4 address is found in both notations of the address", () => {
  const text = table(line(`${MAPPED}${THEIRS}`, `${MAPPED}${OURS}`, { uid: 7 }));
  for (const address of ["127.0.0.1", "::ffff:127.0.0.1"]) {
    expect(ownerIn(text, { remote: { address, port: 51_234 }, local: loopback(5_165) }, true)).toBe(7);
  }
});

test("a socket that no process has open any more has no owner, though it is listed as root's", () => {
  const orphan = line(THEIRS, OURS, { uid: 0, inode: 0 });
  expect(ownerIn(table(orphan), ENDS, true)).toBeUndefined();
  expect(ownerIn(table(orphan, line(THEIRS, OURS, { uid: 9, number: 1 })), ENDS, true)).toBe(9);
});

test("a machine of the other byte order writes addresses the other way round", () => {
  expect(ownerIn(table(line("7F000001:C822", "7F000001:142D", { uid: 6 })), ENDS, false)).toBe(6);
  expect(ownerIn(table(line("7F000001:C822", "7F000001:142D", { uid: 6 })), ENDS, true)).toBeUndefined();
});

test("truncated lines, empty tables and invalid addresses return undefined and never throw", () => {
  for (const text of ["", HEAD, `   0: ${THEIRS} ${OURS} 01`, table(line(THEIRS, OURS)).slice(0, 120)]) {
    expect(ownerIn(text, ENDS, true)).toBeUndefined();
  }
  expect(
    ownerIn(table(line(THEIRS, OURS)), { ...ENDS, remote: { address: "nowhere", port: 1 } }, true),
  ).toBeUndefined();
});

const hex = (bytes: number[]): string => bytes.map((byte) => byte.toString(16).padStart(2, "0").toUpperCase()).join("");
const reversedWords = (bytes: number[]): number[] =>
  Array.from({ length: bytes.length / 4 }, (_, word) => bytes.slice(4 * word, 4 * word + 4).reverse()).flat();
const spelled = (bytes: number[], port: number) =>
  `${hex(reversedWords(bytes))}:${port.toString(16).padStart(4, "0").toUpperCase()}`;

test("for any addresses and ports, the line is found among others and its user is read", () => {
  const port = fc.integer({ min: 1, max: 65_535 });
  const ipv4 = fc.uint8Array({ minLength: 4, maxLength: 4 }).map((bytes) => [...bytes]);
  const pair = fc.tuple(ipv4, ipv4);
  const uid = fc.integer({ min: 0, max: 4_294_967_294 });
  fc.assert(
    fc.property(pair, port, port, uid, fc.boolean(), ([theirs, ours], theirPort, ourPort, user, isMapped) => {
      const prefix = isMapped ? [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255] : [];
      const [their, our] = [spelled([...prefix, ...theirs], theirPort), spelled([...prefix, ...ours], ourPort)];
      const ends = {
        remote: { address: theirs.join("."), port: theirPort },
        local: { address: ours.join("."), port: ourPort },
      };
      const others = [line(our, "00000000:0000", { uid: 1 }), line(our, `${their}0`, { uid: 2 })];
      expect(ownerIn(table(...others, line(their, our, { uid: user, number: 2 })), ends, true)).toBe(user);
      expect(ownerIn(table(...others), ends, true)).toBeUndefined();
    }),
    { seed: 5_165 },
  );
});

test.runIf(process.platform === "linux")(
  "the owner of a real connection is found, for IPv4 and IPv6 sockets",
  async () => {
    const server = createServer().listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once("listening", resolve));
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    for (const host of ["127.0.0.1", "::ffff:127.0.0.1"]) {
      const accepted = new Promise<Endpoints>((resolve) => {
        server.once("connection", (socket) =>
          resolve({
            remote: { address: socket.remoteAddress ?? "", port: socket.remotePort ?? 0 },
            local: { address: socket.localAddress ?? "", port: socket.localPort ?? 0 },
          }),
        );
      });
      const socket = connect(address.port, host);
      onTestFinished(() => void socket.destroy());
      expect({ host, uid: await remoteUid(await accepted) }).toEqual({ host, uid: process.geteuid?.() });
    }
    expect(await remoteUid({ remote: loopback(1), local: loopback(2) })).toBeUndefined();
  },
);
