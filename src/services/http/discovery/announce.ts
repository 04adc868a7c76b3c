import type { Clock } from "../../platform/clock.ts";
import { repeat } from "../../platform/interval.ts";
import { errorMessage, type Log } from "../../platform/log.ts";
import { createDiscoveryFiles } from "./files.ts";
import { type Instance, oldestFirst, stateOf } from "./instance.ts";

/** Milliseconds between two looks whether `server.json` is without an owner. */
const LOOK = 2_000;

const FAULT = "server.json could not be looked after";

/**
 * Looks in a row at which a server that says nothing still counts as one: it may be stopped, or busy. After that its place
 * is given to one that answers.
 */
const MOST_SILENT = 5;

/** Makes a server known to programs outside, and to the servers of other processes. */
export interface Discovery {
  /** Takes its files away: its own, and `server.json` when that is its own. Synchronous, for the end of the process. */
  end(): void;
}

/**
 * Writes `instances/<pid>.json`, and `server.json` when no living server owns that and none of those that live is older.
 * Looks again every two seconds, and writes again what somebody has removed. Resolves after the first look.
 */
export const announce = async (
  own: Instance & { token: string },
  { folder, clock, log }: { folder: string; clock: Clock; log: Log },
): Promise<Discovery> => {
  const files = createDiscoveryFiles(folder);
  const { token: _, ...instance } = own;
  const silences = new Map<string, number>();
  let ended = false;
  let fault: string | undefined;

  const isLiving = async (other: Instance): Promise<boolean> => {
    const key = `${other.pid} ${other.port} ${other.startedAt}`;
    const state = await stateOf(other);
    const silent = state === "silent" ? (silences.get(key) ?? 0) + 1 : 0;
    if (silent > 0) silences.set(key, silent);
    else silences.delete(key);
    return state === "living" || (silent > 0 && silent <= MOST_SILENT);
  };

  const named = () => files.readServer();
  const isOurs = () => named()?.token === own.token;

  /** The servers that live. What others have left is cleared away. */
  const living = async (): Promise<Instance[]> => {
    const others = files.readInstances().filter(({ pid }) => pid !== own.pid);
    const lives = await Promise.all(others.map(isLiving));
    for (const [index, other] of others.entries()) if (!lives[index]) files.removeInstance(other.pid);
    return others.filter((_other, index) => lives[index]);
  };

  const look = async () => {
    if (!files.hasInstance(own.pid)) files.writeInstance(instance);
    const others = await living();
    if (ended || isOurs()) return;
    const owner = named();
    if (owner && (await isLiving(owner))) return;
    if (others.some((other) => oldestFirst(other, own) < 0)) return;
    // While the port was tried, somebody may have taken it over.
    if (ended || named()?.startedAt !== owner?.startedAt) return;
    files.writeServer(own);
  };

  /** A fault is said once, not every two seconds. */
  const lookAgain = async () => {
    try {
      await look();
      fault = undefined;
    } catch (error) {
      const reason = errorMessage(error);
      if (reason !== fault) log.error(FAULT, { reason });
      fault = reason;
    }
  };

  files.writeInstance(instance);
  try {
    const narrowed = files.prepare();
    if (narrowed.length > 0) log.info("others could look into folders of the plugin: that is closed now", { narrowed });
  } catch (error) {
    // What is in them is for their owner alone all the same.
    log.error("others may look into the folder of the plugin", { folder, reason: errorMessage(error) });
  }
  await look();
  const stopLooking = repeat(clock, log, { every: LOOK, work: lookAgain, fault: FAULT });
  return {
    end: () => {
      ended = true;
      stopLooking();
      try {
        if (isOurs()) files.removeServer();
        files.removeInstance(own.pid);
      } catch (error) {
        // Others find out that nobody is behind them; what else has to end must not be held up.
        log.error("the files by which the status API is found could not be removed", { reason: errorMessage(error) });
      }
    },
  };
};
