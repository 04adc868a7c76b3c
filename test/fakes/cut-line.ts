import { createServer, connect as openSocket, type Socket } from "node:net";

/** A line between servers and an engine, both on loopback, that can be cut as a network is: nobody is told. */
export interface CutLine {
  /** The engine's address at this end of the line. */
  url: string;
  /** From now on nothing gets through, and no connection is closed. New ones are accepted and stay silent. */
  cut(): void;
  /** Lets new connections through. Those that were there when the line was cut stay silent for ever. */
  mend(): void;
  stop(): Promise<void>;
}

/** Lays a line to what listens on that port. The caller stops it. */
export const layLine = async (port: number): Promise<CutLine> => {
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((near) => {
    sockets.add(near);
    near.on("error", () => near.destroy());
    if (isCut) return;
    const far = openSocket(port, "127.0.0.1");
    sockets.add(far);
    far.on("error", () => near.destroy());
    near.pipe(far);
    far.pipe(near);
  });
  const listening = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", () => listening.resolve());
  await listening.promise;
  const address = server.address();
  if (typeof address !== "object" || !address) throw new Error("no port");
  return {
    url: `nats://127.0.0.1:${address.port}`,
    cut: () => {
      isCut = true;
      for (const socket of sockets) socket.unpipe().pause();
    },
    mend: () => {
      isCut = false;
    },
    stop: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
};
