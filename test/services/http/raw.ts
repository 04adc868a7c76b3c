import { connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** A response as it came over the wire. */
export interface RawAnswer {
  status: number;
  headers: Map<string, string>;
  body: string;
}

/** Opens a connection for the length of a test. */
export const open = async (port: number): Promise<Socket> => {
  const socket = connect(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  return socket;
};

/** Sends text unchanged, unlike `fetch`, and reads the response until the server closes the connection. */
export const send = async (port: number, text: string): Promise<RawAnswer> => {
  const socket = await open(port);
  let answer = "";
  socket.setEncoding("utf8").on("data", (part) => {
    answer += part;
  });
  // A server that has refused a request may close before it has read it.
  socket.on("error", () => undefined);
  socket.setTimeout(10_000, () => socket.destroy());
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.write(text);
  await closed;
  const [head = "", ...body] = answer.split("\r\n\r\n");
  const [first = "", ...lines] = head.split("\r\n");
  const headers = new Map(
    lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]),
  );
  return { status: Number(first.split(" ")[1]), headers, body: body.join("\r\n\r\n") };
};

/** Formats a request that asks the server to close the connection after its response. */
export const request = (method: string, target: string, headers: Record<string, string> = {}): string => {
  const all = { Host: "127.0.0.1", Connection: "close", ...headers };
  return `${method} ${target} HTTP/1.1\r\n${Object.entries(all)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("")}\r\n`;
};
