import { type Clock, repeat } from "../../platform/clock.ts";
import { errorMessage, type Log } from "../../platform/log.ts";
import { ensureServerKey } from "../../platform/server-key.ts";
import { createDiscoveryFiles, type Instance, oldestFirst, probeServer } from "./instances.ts";

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
export const sharedToken = async (folder: string): Promise<string | undefined> => {
  const owner = createDiscoveryFiles(folder).readServer();
  if (!owner) return undefined;
  return (await probeServer(owner, ensureServerKey(folder))) === "reachable" ? owner.token : undefined;
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
