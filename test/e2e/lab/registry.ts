import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { basename } from "node:path";

/** A registry of packages on this machine, with one package in it. */
export interface Registry {
  url: string;
  stop(): void;
}

/** Serves a packed package as a registry does. `manifest` is its package.json. */
export async function startRegistry(
  packed: string,
  manifest: { name: string; version: string; [field: string]: unknown },
): Promise<Registry> {
  const content = await readFile(packed);
  const file = basename(packed);
  const { name, version } = manifest;
  const server = createServer((request, response) => {
    if (request.url === `/${file}`) return response.end(content);
    if (request.url !== `/${name}`) return response.writeHead(404).end("{}");
    const integrity = `sha512-${createHash("sha512").update(content).digest("base64")}`;
    const dist = { tarball: `http://${request.headers.host}/${file}`, integrity };
    const versions = { [version]: { ...manifest, dist } };
    response.setHeader("content-type", "application/json");
    return response.end(JSON.stringify({ name, "dist-tags": { latest: version }, versions }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the registry has no port");
  return {
    url: `http://127.0.0.1:${address.port}/`,
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
