import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { type Clock, repeat } from "../../platform/clock.ts";
import { errorMessage, type Log } from "../../platform/log.ts";
import { makePrivateFolder } from "../../platform/private-files.ts";
import { isAlive } from "../../platform/process-identity.ts";
import { ensureServerKey } from "../../platform/server-key.ts";
import { askServer } from "../loopback.ts";

/** Milliseconds between checks whether `server.json` still has an owner. */
const CHECK_INTERVAL_MS = 2_000;

const FAULT = "could not check or write server.json";

/**
 * Consecutive checks in which a server that does not respond still counts as reachable: it may be stopped, or busy. After
 * that, another server replaces it in `server.json`.
 */
const MAX_SILENT_CHECKS = 5;

/**
 * Returns the token of the server that `server.json` names, where that proves to be one; undefined otherwise. All servers of a
 * data folder at a time have one token, so that a page that lost one of them goes on with another.
 */
export const sharedToken = async (folder: string, log: Log): Promise<string | undefined> => {
  try {
    const owner = createDiscoveryFiles(folder).readServer();
    if (!owner) return undefined;
    return (await probeServer(owner, ensureServerKey(folder))) === "reachable" ? owner.token : undefined;
  } catch (error) {
    log.error("other servers could not be asked for", { folder, reason: errorMessage(error) });
    return undefined;
  }
};

/**
 * Creates a server's entry in the files by which other programs, and the servers of other processes, find it. Nothing is
 * written before `publish`, so that `withdraw` can be at hand by then. Whether a server is there is asked of the server itself:
 * the system assigns a process id, and a port, again.
 */
export const createAnnouncement = (
  own: Instance & { token: string },
  { folder, clock, log, liveView }: { folder: string; clock: Clock; log: Log; liveView(): string | undefined },
) => {
  const files = createDiscoveryFiles(folder);
  /** The path of the live view as it was last written. */
  let announcedView: string | undefined;

  const announceInstance = () => {
    const { token: _, ...instance } = own;
    announcedView = liveView();
    files.writeInstance(announcedView === undefined ? instance : { ...instance, liveView: announcedView });
  };
  /** Consecutive checks in which a server did not respond. */
  const silentChecks = new Map<string, number>();
  let isWithdrawn = false;
  let stopChecking: () => void = () => undefined;
  let lastFault: string | undefined;

  const isReachable = async (other: Instance): Promise<boolean> => {
    const key = `${other.pid} ${other.port} ${other.startedAt}`;
    const state = await probeServer(other, ensureServerKey(folder));
    const silent = state === "silent" ? (silentChecks.get(key) ?? 0) + 1 : 0;
    if (silent > 0) silentChecks.set(key, silent);
    else silentChecks.delete(key);
    return state === "reachable" || (silent > 0 && silent <= MAX_SILENT_CHECKS);
  };

  const announced = () => files.readServer();
  const isOurs = () => announced()?.pid === own.pid && announced()?.startedAt === own.startedAt;

  /** Returns the other servers that are reachable, and removes the files of those that are not. */
  const reachableOthers = async (): Promise<Instance[]> => {
    const others = files.readInstances().filter(({ pid }) => pid !== own.pid);
    const reachable = await Promise.all(others.map(isReachable));
    for (const [index, other] of others.entries()) if (!reachable[index]) files.removeInstance(other.pid);
    return others.filter((_other, index) => reachable[index]);
  };

  const check = async () => {
    if (!files.hasInstance(own.pid) || liveView() !== announcedView) announceInstance();
    const others = await reachableOthers();
    if (isWithdrawn || isOurs()) return;
    const owner = announced();
    if (owner && (await isReachable(owner))) return;
    if (others.some((other) => oldestFirst(other, own) < 0)) return;
    // Another server may have written the file while the owner was probed.
    if (isWithdrawn || announced()?.startedAt !== owner?.startedAt) return;
    files.writeServer(own);
  };

  /** Logs a fault once, not every two seconds. */
  const checkSafely = async () => {
    try {
      await check();
      lastFault = undefined;
    } catch (error) {
      const reason = errorMessage(error);
      if (reason !== lastFault) log.error(FAULT, { reason });
      lastFault = reason;
    }
  };

  /**
   * Writes `instances/<pid>.json`, and `server.json` when no reachable server owns that and this one is the oldest of
   * those that are reachable. Checks both every two seconds, and restores a file that was removed. Resolves after the
   * first check; rejects when that fails.
   */
  const publish = async () => {
    // Clients that find the server ask it to prove itself with the key.
    ensureServerKey(folder);
    announceInstance();
    try {
      const restricted = files.prepare();
      if (restricted.length > 0) log.info("took folders of the plugin away from other users", { folders: restricted });
    } catch (error) {
      // The files in it are readable by their owner only all the same.
      log.error("other users may list the folder of the plugin", { folder, reason: errorMessage(error) });
    }
    await check();
    if (!isWithdrawn) stopChecking = repeat(clock, log, { every: CHECK_INTERVAL_MS, work: checkSafely, fault: FAULT });
  };

  /** Removes the entry for good, and `server.json` if that names this server. Synchronous, for the end of the process. */
  const withdraw = () => {
    isWithdrawn = true;
    stopChecking();
    try {
      if (isOurs()) files.removeServer();
      files.removeInstance(own.pid);
    } catch (error) {
      // Other servers find out that this one is gone; the rest of the shutdown must go on.
      log.error("could not remove the files by which the status API is found", { reason: errorMessage(error) });
    }
  };

  return { publish, withdraw };
};

/** A server, as other processes see it: the content of `instances/<pid>.json`. */
const Instance = z.object({
  port: z.int().min(1).max(65_535),
  pid: z.int().positive(),
  startedAt: z.iso.datetime(),
  url: z.string(),
  /** The path of its live view; absent while that is off. */
  liveView: z.string().optional(),
});
type Instance = z.infer<typeof Instance>;

/** The content of `server.json`. Another program may have written one without a token. */
export const ServerFile = Instance.extend({ token: z.string().optional() });
export type ServerFile = z.infer<typeof ServerFile>;

/** Compares by age, for sorting: the oldest first. */
const oldestFirst = (one: Instance, other: Instance): number =>
  Date.parse(one.startedAt) - Date.parse(other.startedAt) || one.pid - other.pid;

/** Milliseconds in which a server has to respond. One that is stopped or busy does not. */
const PROBE_TIMEOUT_MS = 1_000;

/**
 * Checks whether the server of another process still exists: `reachable` when it says so itself, `silent` when something
 * listens at its port and has not responded in time. A process with its id proves nothing, and a program that listens at
 * its port little, since the system assigns both again. `key` is that of the data folder.
 */
const probeServer = async (
  { pid, port, startedAt }: Instance,
  key: string,
): Promise<"reachable" | "silent" | "gone"> => {
  if (pid === process.pid || !isAlive(pid)) return "gone";
  const health = await askServer({ pid, port, startedAt }, key, PROBE_TIMEOUT_MS);
  return health === "silent" ? health : health ? "reachable" : "gone";
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
