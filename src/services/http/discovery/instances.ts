import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { makePrivateFolder } from "../../platform/private-files.ts";
import { isAlive } from "../../platform/process-identity.ts";
import { isProof, newChallenge } from "../../platform/server-key.ts";
import { parseJson, send } from "../loopback-requests.ts";

/** A server, as other processes see it: the content of `instances/<pid>.json`. */
export const Instance = z.object({
  port: z.int().min(1).max(65_535),
  pid: z.int().positive(),
  startedAt: z.iso.datetime(),
  url: z.string(),
  /** The path of its live view; absent while that is off. */
  liveView: z.string().optional(),
});
export type Instance = z.infer<typeof Instance>;

/** The content of `server.json`. Another program may have written one without a token. */
export const ServerFile = Instance.extend({ token: z.string().optional() });
export type ServerFile = z.infer<typeof ServerFile>;

/** Compares by age, for sorting: the oldest first. */
export const oldestFirst = (one: Instance, other: Instance): number =>
  Date.parse(one.startedAt) - Date.parse(other.startedAt) || one.pid - other.pid;

/** Milliseconds in which a server has to respond. One that is stopped or busy does not. */
const PROBE_TIMEOUT_MS = 1_000;

/** The part of `/v1/health` that identifies a server. Another program, or another server, at its port differs in it. */
const Health = Instance.pick({ pid: true, startedAt: true }).extend({ proof: z.string() });

/** Characters of a response of `/v1/health` that are read at most: another program may listen at that port. */
const MAX_RESPONSE_CHARS = 10_000;

/**
 * Checks whether the server of another process still exists: `reachable` when it says so itself, `silent` when something
 * listens at its port and has not responded in time. A process with its id proves nothing, and a program that listens at
 * its port little, since the system assigns both again. `key` is that of the data folder.
 */
export const probeServer = async (
  { pid, port, startedAt }: Instance,
  key: string,
): Promise<"reachable" | "silent" | "gone"> => {
  if (pid === process.pid || !isAlive(pid)) return "gone";
  const challenge = { port, challenge: newChallenge() };
  const request = { method: "GET", path: `/v1/health?challenge=${challenge.challenge}` } as const;
  const response = await send({ port }, request, PROBE_TIMEOUT_MS, MAX_RESPONSE_CHARS);
  if (response === "silent") return "silent";
  if (typeof response === "string") return "gone";
  const { data } = Health.safeParse(parseJson(response.text));
  const isIt = data?.pid === pid && data.startedAt === startedAt && isProof(data.proof, key, challenge);
  return isIt ? "reachable" : "gone";
};

/**
 * Gives access to the files by which servers are found, in the plugin's data folder, which need not exist. All methods are
 * synchronous: some are called while the process exits.
 */
export const createDiscoveryFiles = (folder: string) => {
  const serverFile = join(folder, "server.json");
  const instances = join(folder, "instances");
  const fileOf = (pid: number) => join(instances, `${pid}.json`);
  const temporaryOf = (pid: number) => join(instances, `${pid}.tmp`);

  const read = <S extends z.ZodType>(path: string, schema: S): z.infer<S> | undefined => {
    try {
      return schema.safeParse(JSON.parse(readFileSync(path, "utf8"))).data;
    } catch {
      return undefined;
    }
  };

  /** Somebody may have removed the folder. */
  const instanceNames = () => (existsSync(instances) ? readdirSync(instances) : []);

  /** Does nothing where the folder is missing, or has been replaced by a file. */
  const remove = (path: string) => {
    if (existsSync(path)) rmSync(path, { force: true });
  };

  /** Writes atomically: a concurrent reader finds either the old content or the new one. */
  const write = (path: string, value: Instance) => {
    mkdirSync(instances, { recursive: true, mode: 0o700 });
    const temporary = temporaryOf(value.pid);
    rmSync(temporary, { force: true });
    writeFileSync(temporary, `${JSON.stringify(value, undefined, 2)}\n`, { mode: 0o600, flag: "wx" });
    renameSync(temporary, path);
  };

  return {
    /** Creates the folders, for their owner alone. Returns those to which other users had access until now. May throw. */
    prepare: () => [folder, instances].filter(makePrivateFolder),
    /** Returns the content of `server.json`; undefined when it is missing or invalid. */
    readServer: () => read(serverFile, ServerFile),
    writeServer: (server: ServerFile) => write(serverFile, server),
    removeServer: () => remove(serverFile),
    /** Returns the entries of all servers. Invalid ones are left out. */
    readInstances: () =>
      instanceNames().flatMap((name) => {
        const pid = Number(/^(\d+)\.json$/.exec(name)?.[1]);
        const instance = pid ? read(fileOf(pid), Instance) : undefined;
        return instance?.pid === pid ? [instance] : [];
      }),
    hasInstance: (pid: number) => existsSync(fileOf(pid)),
    writeInstance: (instance: Instance) => write(fileOf(instance.pid), instance),
    /** Removes the files of a process. */
    removeInstance: (pid: number) => {
      remove(fileOf(pid));
      remove(temporaryOf(pid));
    },
  };
};
