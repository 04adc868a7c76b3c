import { once } from "node:events";
import { createServer, request } from "node:http";

/** An HTTP proxy on loopback that sends whatever it is asked for to one server, whichever machine was named. */
export type Proxy = { url: string; stop(): Promise<void> };

/** Starts a proxy to the server at `target`. A program that is told of it takes that server for any machine. */
export async function startProxy(target: string): Promise<Proxy> {
  const { hostname, port } = new URL(target);
  const server = createServer((incoming, response) => {
    const { method, headers, url = "/" } = incoming;
    const { pathname, search } = new URL(url, target);
    const onward = request({ hostname, port, method, headers, path: pathname + search }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on("error", () => response.destroy());
    response.on("close", () => onward.destroy());
    incoming.pipe(onward);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the proxy has no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    async stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}
