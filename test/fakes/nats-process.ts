import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect as openSocket, type Socket } from "node:net";
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

/** Where it serves clients, and its page of figures. */
interface NatsPorts {
  client: number;
  figures: number;
}

/** Reads at which ports it serves, from the file that it writes then; undefined until it is whole. */
const readPorts = (folder: string): NatsPorts | undefined => {
  const file = readdirSync(folder).find((name) => name.endsWith(".ports"));
  if (file === undefined) return undefined;
  try {
    const { nats, monitoring } = JSON.parse(readFileSync(join(folder, file), "utf8")) as Record<string, string[]>;
    return { client: Number(new URL(nats?.[0] ?? "").port), figures: Number(new URL(monitoring?.[0] ?? "").port) };
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
};

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
  const folder = mkdtempSync(join(tmpdir(), "taskchart-nats-"));
  const store = join(folder, "store");
  const configured = join(folder, "nats.conf");
  writeFileSync(configured, configuration);
  const keeping = hasJetStream ? ["-js", "-sd", store] : [];
  let child: ChildProcess | undefined;
  let copies = 0;
  const full: FleetSettings = { lease: 2_000, keep: 86_400_000, replicas: 1, ...settings };

  /** Those that it chose when it was started first, and has again each time. A port that we chose might be another's by then. */
  let ports: NatsPorts | undefined;

  /** Starts it, and resolves once it greets, to the ports at which it does. */
  const startAt = async (): Promise<NatsPorts> => {
    const { client = -1, figures = -1 } = ports ?? {};
    const args = ["-c", configured, "-a", "127.0.0.1", `-p=${client}`, `-m=${figures}`, "--ports_file_dir", folder];
    const started = spawn(executable ?? "nats-server", [...args, ...keeping], { stdio: "ignore" });
    child = started;
    for (;;) {
      ports ??= readPorts(folder);
      if (ports && (await greets(ports.client))) return ports;
      if (started.exitCode !== null) throw new Error(`nats-server ended with ${started.exitCode}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const start = async () => void (await startAt());
  const kill = async () => {
    const ended = child;
    child = undefined;
    if (!ended || ended.exitCode !== null) return;
    const exit = new Promise((resolve) => ended.once("exit", resolve));
    ended.kill("SIGKILL");
    await exit;
  };
  const setUpIfWanted = async (url: string) => {
    if (isSetUp) await manage(url, (jsm) => setUpFleet(jsm, full));
  };
  const { client, figures } = await startAt();
  const url = `nats://127.0.0.1:${client}`;
  await setUpIfWanted(url);
  return {
    url,
    pid: () => child?.pid,
    counted: async () => {
      const answer = await fetch(`http://127.0.0.1:${figures}/varz`);
      const sum = (await answer.json()) as Record<"in_msgs" | "out_msgs" | "in_bytes" | "out_bytes", number>;
      return { messages: sum.in_msgs + sum.out_msgs, bytes: sum.in_bytes + sum.out_bytes };
    },
    kill,
    start,
    wipe: async () => {
      await kill();
      rmSync(store, { recursive: true, force: true });
      await start();
      await setUpIfWanted(url);
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
