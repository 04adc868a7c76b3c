import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { Socket } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { CORS_HEADERS, type Listen, refusalResponse } from "../access/request-handling.ts";
import type { Endpoints } from "../access/socket-owner.ts";
import { LOOPBACK } from "../loopback.ts";

const portOf = (server: Server): number => {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return address.port;
};

/** The response to a request that could not be parsed, by the code of Node's error. */
const PARSE_ERRORS: Readonly<Record<string, { status: number; name: string; error: string }>> = {
  HPE_HEADER_OVERFLOW: {
    status: 431,
    name: "Request Header Fields Too Large",
    error: "The URL or the headers are too long.",
  },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, name: "Request Timeout", error: "The request did not arrive in time." },
};
const NOT_HTTP = { status: 400, name: "Bad Request", error: "The request is not valid HTTP." };

/** Formats that response as HTTP: Node has no response object for such a request. */
const formatParseError = (code: string | undefined): string => {
  const { status, name, error } = PARSE_ERRORS[code ?? ""] ?? NOT_HTTP;
  const body = JSON.stringify({ error, status });
  // Nobody knows who has sent it: a page could, so that none may read that there is a server.
  const headers = {
    "Content-Type": "application/json",
    "Content-Length": body.length,
    Connection: "close",
  };
  const lines = Object.entries(headers).map(([header, value]) => `${header}: ${value}`);
  return [`HTTP/1.1 ${status} ${name}`, ...lines, "", body].join("\r\n");
};

/** Listens with Node's own server. */
export const listenOnNode: Listen = async (port, handle, { timeoutMs, maxConnections }) => {
  const known = new WeakMap<Socket, Endpoints>();

  /** Returns the same object for all requests of a connection. */
  const endpointsOf = (socket: Socket): Endpoints | undefined => {
    const { remoteAddress, remotePort, localAddress, localPort } = socket;
    if (!remoteAddress || !remotePort || !localAddress || !localPort) return undefined;
    const endpoints = known.get(socket) ?? {
      remote: { address: remoteAddress, port: remotePort },
      local: { address: localAddress, port: localPort },
    };
    known.set(socket, endpoints);
    return endpoints;
  };

  const listener = getRequestListener(
    (request, { incoming, outgoing }) =>
      handle(request, {
        abort: () => outgoing.destroy(),
        disableTimeout: () => void incoming.socket.setTimeout(0),
        unsentBytes: () => outgoing.writableLength,
        maxStreamBytes: undefined,
        endpoints: endpointsOf(incoming.socket as Socket),
      }),
    // The process belongs to the host: its globals stay as they are.
    { overrideGlobalObjects: false, errorHandler: () => refusalResponse(400, "The Host or the URL is malformed.") },
  );
  let isClosing = false;
  const serve: RequestListener = (incoming, outgoing) => {
    // While the server closes, a connection that is kept alive after its response would delay that.
    outgoing.once("close", () => {
      if (isClosing) setImmediate(() => server.closeIdleConnections());
    });
    if (incoming.method !== "OPTIONS" || incoming.url?.startsWith("/")) return void listener(incoming, outgoing);
    // Handled here since no URL can be made of the other targets, such as `*`. No page can send them.
    outgoing.writeHead(204, CORS_HEADERS).end();
  };
  const timeouts = { headersTimeout: timeoutMs, requestTimeout: timeoutMs, keepAliveTimeout: timeoutMs };
  // Requests that take too long are looked for at this interval, which is a fraction of the time that they may take.
  const server = createServer({ ...timeouts, connectionsCheckingInterval: Math.ceil(timeoutMs / 6) }, serve);
  // Also limits how long a client may take to read its response.
  server.setTimeout(timeoutMs);
  server.maxConnections = maxConnections;
  // Otherwise Node responds by itself, without our headers.
  server.on("checkExpectation", serve);
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    if (socket.writable) socket.end(formatParseError(error.code));
    else socket.destroy();
  });
  // Open connections must not keep the process alive either.
  server.on("connection", (socket) => socket.unref());
  server.listen(port, LOOPBACK);
  await once(server, "listening");
  server.unref();
  return {
    port: portOf(server),
    close: async (withinMs) => {
      isClosing = true;
      const closed = once(server, "close");
      server.close();
      server.closeIdleConnections();
      const timer = setTimeout(() => server.closeAllConnections(), withinMs);
      await closed;
      clearTimeout(timer);
    },
  };
};
