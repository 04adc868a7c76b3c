import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { CORS, errorAnswer } from "./cors.ts";
import { type Listen, LOOPBACK } from "./listening.ts";

const portOf = (server: Server): number => {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return address.port;
};

/** What is sent when a request cannot even be parsed, as HTTP: there is nobody else to write it. */
const unparsed = (code: string | undefined): string => {
  const status = code === "HPE_HEADER_OVERFLOW" ? 431 : 400;
  const body = JSON.stringify({
    error: status === 431 ? "The URL or the headers are too long." : "This is no HTTP.",
    status,
  });
  const headers = { ...CORS, "Content-Type": "application/json", "Content-Length": body.length, Connection: "close" };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [
    `HTTP/1.1 ${status} ${status === 431 ? "Request Header Fields Too Large" : "Bad Request"}`,
    ...lines,
    "",
    body,
  ].join("\r\n");
};

/** By Node's own server. */
export const listenOnNode: Listen = async (port, answer) => {
  const listener = getRequestListener(
    (request, { outgoing }) => answer(request, { drop: () => outgoing.destroy(), mostBytes: undefined }),
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
  const server = createServer(serve);
  // Node would answer by itself, without our headers.
  server.on("checkExpectation", serve);
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    if (socket.writable) socket.end(unparsed(error.code));
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
