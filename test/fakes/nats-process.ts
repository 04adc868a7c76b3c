import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, connect as openSocket, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { type JetStreamManager, jetstreamManager } from "@nats-io/jetstream";
import { dial } from "../../src/services/fleet/nats/nats-connection.ts";
import { type FleetSettings, setUpFleet } from "../../src/services/fleet/nats/streams.ts";
import { findProgram } from "./installed-program.ts";

/** Where nats-server may be installed: the path in `NATS_SERVER`, or those of `PATH` and of Debian. */
const PLACES = process.env.NATS_SERVER
  ? [process.env.NATS_SERVER]
  : [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin"].map((folder) => join(folder, "nats-server"));

/** The program; undefined where it is not installed. */
export const executable = findProgram(PLACES);

/** What to do where it is not installed. */
export const MISSING = 'There is no nats-server: "apt-get install nats-server" gets one, or NATS_SERVER names one.';

/** A real broker of a fleet, on loopback. */
export interface NatsServer {
  url: string;
  /** Its process, while it runs. */
  pid(): number | undefined;
  /** What it has counted since it was started, from its own page of figures. */
  counted(): Promise<{ messages: number; bytes: number }>;
  /** Ends it at once, as a power cut does to a process; what it has stored stays. */
  kill(): Promise<void>;
  /** Starts it again, on what it has stored. */
  start(): Promise<void>;
  /** Ends it, removes what it has stored, starts it and sets up the fleet anew. */
  wipe(): Promise<void>;
  /** Copies all that it has stored, for which it is ended and started again. Returns how to set it back to that. */
  copy(): Promise<() => Promise<void>>;
  /** Does something with its streams. */
  manage<T>(work: (jsm: JetStreamManager) => Promise<T>): Promise<T>;
  /** Ends it for good. */
  stop(): Promise<void>;
}

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() =>
        typeof address === "object" && address ? resolve(address.port) : reject(new Error("no port")),
      );
    });
    probe.once("error", reject);
  });

/** True when it greets whoever connects. */
const greets = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket: Socket = openSocket(port, "127.0.0.1");
    const done = (does: boolean) => {
      socket.destroy();
      resolve(does);
    };
    socket.once("data", () => done(true));
    socket.once("error", () => done(false));
  });

const manage = async <T>(url: string, work: (jsm: JetStreamManager) => Promise<T>): Promise<T> => {
  const nc = await dial({ url, credentials: undefined }, "manage");
  try {
    return await work(await jetstreamManager(nc));
  } finally {
    await nc.close();
  }
};

/** What a nats-server is started with, other than one that keeps a fleet. */
export interface NatsSetting {
  /** False: it has no streams. */
  isSetUp?: boolean;
  /** False: it keeps no messages. */
  hasJetStream?: boolean;
  /** More of its configuration, such as who may do what. Nothing is set up on it then. */
  configuration?: string;
}

/** Starts nats-server with the streams of a fleet. The caller stops it. */
export const startNats = async (
  settings: Partial<FleetSettings> = {},
  { configuration = "", hasJetStream = true, isSetUp = hasJetStream && configuration === "" }: NatsSetting = {},
): Promise<NatsServer> => {
  const port = await freePort();
  const figuresPort = await freePort();
  const url = `nats://127.0.0.1:${port}`;
  const folder = mkdtempSync(join(tmpdir(), "taskchart-nats-"));
  const store = join(folder, "store");
  const configured = join(folder, "nats.conf");
  writeFileSync(configured, configuration);
  const keeping = hasJetStream ? ["-js", "-sd", store] : [];
  let child: ChildProcess | undefined;
  let copies = 0;
  const full: FleetSettings = { lease: 2_000, keep: 86_400_000, replicas: 1, ...settings };

  const start = async () => {
    const ports = ["-p", String(port), "-m", String(figuresPort)];
    const args = ["-c", configured, "-a", "127.0.0.1", ...ports, ...keeping];
    const started = spawn(executable ?? "nats-server", args, { stdio: "ignore" });
    child = started;
    while (!(await greets(port))) {
      if (started.exitCode !== null) throw new Error(`nats-server ended with ${started.exitCode}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const kill = async () => {
    const ended = child;
    child = undefined;
    if (!ended || ended.exitCode !== null) return;
    const exit = new Promise((resolve) => ended.once("exit", resolve));
    ended.kill("SIGKILL");
    await exit;
  };
  const setUpIfWanted = async () => {
    if (isSetUp) await manage(url, (jsm) => setUpFleet(jsm, full));
  };
  await start();
  await setUpIfWanted();
  return {
    url,
    pid: () => child?.pid,
    counted: async () => {
      const answer = await fetch(`http://127.0.0.1:${figuresPort}/varz`);
      const figures = (await answer.json()) as Record<"in_msgs" | "out_msgs" | "in_bytes" | "out_bytes", number>;
      return {
        messages: figures.in_msgs + figures.out_msgs,
        bytes: figures.in_bytes + figures.out_bytes,
      };
    },
    kill,
    start,
    wipe: async () => {
      await kill();
      rmSync(store, { recursive: true, force: true });
      await start();
      await setUpIfWanted();
    },
    copy: async () => {
      copies += 1;
      const copy = join(folder, `copy-${copies}`);
      await kill();
      cpSync(store, copy, { recursive: true });
      await start();
      return async () => {
        await kill();
        rmSync(store, { recursive: true });
        cpSync(copy, store, { recursive: true });
        await start();
      };
    },
    manage: (work) => manage(url, work),
    stop: async () => {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
};
