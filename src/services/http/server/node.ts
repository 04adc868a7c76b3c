import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { Socket } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { CORS, errorAnswer } from "../access/responses.ts";
import type { Ends } from "../access/socket-owner.ts";
import { type Listen, LOOPBACK } from "./listener.ts";

const portOf = (server: Server): number => {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return address.port;
};

/** What there is to say of a request that cannot even be read, by the code of Node's error. */
const UNREAD: Readonly<Record<string, { status: number; name: string; error: string }>> = {
  HPE_HEADER_OVERFLOW: {
    status: 431,
    name: "Request Header Fields Too Large",
    error: "The URL or the headers are too long.",
  },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, name: "Request Timeout", error: "The request did not come in time." },
};
const NO_HTTP = { status: 400, name: "Bad Request", error: "This is no HTTP." };

/** The answer to such a request, as HTTP: there is nobody else to write it. */
const unread = (code: string | undefined): string => {
  const { status, name, error } = UNREAD[code ?? ""] ?? NO_HTTP;
  const body = JSON.stringify({ error, status });
  const headers = { ...CORS, "Content-Type": "application/json", "Content-Length": body.length, Connection: "close" };
  const lines = Object.entries(headers).map(([header, value]) => `${header}: ${value}`);
  return [`HTTP/1.1 ${status} ${name}`, ...lines, "", body].join("\r\n");
};

/** Milliseconds between two looks for requests that take too long: a part of what they may take. */
const checkedEvery = (patience: number): number => Math.ceil(patience / 6);

/** By Node's own server. */
export const listenOnNode: Listen = async (port, answer, { patience, connections }) => {
  const known = new WeakMap<Socket, Ends>();

  /** The same object for all requests of a connection. */
  const endsOf = (socket: Socket): Ends | undefined => {
    const { remoteAddress, remotePort, localAddress, localPort } = socket;
    if (!remoteAddress || !remotePort || !localAddress || !localPort) return undefined;
    const ends = known.get(socket) ?? {
      remote: { address: remoteAddress, port: remotePort },
      local: { address: localAddress, port: localPort },
    };
    known.set(socket, ends);
    return ends;
  };

  const listener = getRequestListener(
    (request, { incoming, outgoing }) =>
      answer(request, {
        drop: () => outgoing.destroy(),
        keepOpen: () => void incoming.socket.setTimeout(0),
        unsent: () => outgoing.writableLength,
        mostBytes: undefined,
        ends: endsOf(incoming.socket as Socket),
      }),
    // The process is the host's: its globals stay what they are.
    { overrideGlobalObjects: false, errorHandler: () => errorAnswer(400, "The Host or the URL is malformed.") },
  );
  let isClosing = false;
  const serve: RequestListener = (incoming, outgoing) => {
    // A connection that is kept alive would hold the closing up, once its answer is out.
    outgoing.once("close", () => {
      if (isClosing) setImmediate(() => server.closeIdleConnections());
    });
    if (incoming.method !== "OPTIONS") return void listener(incoming, outgoing);
    // Also for targets and hosts of which no URL can be made, such as `*`.
    outgoing.writeHead(204, CORS).end();
  };
  const times = { headersTimeout: patience, requestTimeout: patience, keepAliveTimeout: patience };
  const server = createServer({ ...times, connectionsCheckingInterval: checkedEvery(patience) }, serve);
  // Also for who does not take its answer.
  server.setTimeout(patience);
  server.maxConnections = connections;
  // Node would answer by itself, without our headers.
  server.on("checkExpectation", serve);
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    if (socket.writable) socket.end(unread(error.code));
    else socket.destroy();
  });
  // Whoever reads must not keep the process alive either.
  server.on("connection", (socket) => socket.unref());
  server.listen(port, LOOPBACK);
  await once(server, "listening");
  server.unref();
  return {
    port: portOf(server),
    close: async (within) => {
      isClosing = true;
      const closed = once(server, "close");
      server.close();
      server.closeIdleConnections();
      const late = setTimeout(() => server.closeAllConnections(), within);
      await closed;
      clearTimeout(late);
    },
  };
};
