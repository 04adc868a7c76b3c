import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import { repeat } from "../recurring.ts";
import { createDiscoveryFiles } from "./discovery-files.ts";
import { byAge, type Instance, isLiving } from "./instance.ts";

/** Milliseconds between two looks whether `server.json` is without an owner. */
const LOOK = 2_000;

/** Makes a server known to programs outside, and to the servers of other processes. */
export interface Discovery {
  /** Takes its files away: its own, and `server.json` when that is its own. Synchronous, for the end of the process. */
  end(): void;
}

/**
 * Writes `instances/<pid>.json`, and `server.json` when no living server owns that and none of those that live is older.
 * Looks again every two seconds. Resolves after the first look.
 */
export const announce = async (
  own: Instance & { token: string },
  { folder, clock, log }: { folder: string; clock: Clock; log: Log },
): Promise<Discovery> => {
  const files = createDiscoveryFiles(folder);
  const { token: _, ...instance } = own;
  let ended = false;

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
    const others = await living();
    if (ended || isOurs()) return;
    const owner = named();
    if (owner && (await isLiving(owner))) return;
    if (others.some((other) => byAge(other, own) < 0)) return;
    // While the port was tried, somebody may have taken it over.
    if (ended || named()?.startedAt !== owner?.startedAt) return;
    files.writeServer(own);
  };

  files.writeInstance(instance);
  await look();
  const stopLooking = repeat(clock, log, { every: LOOK, work: look, fault: "server.json could not be looked after" });
  return {
    end: () => {
      ended = true;
      stopLooking();
      if (isOurs()) files.removeServer();
      files.removeInstance(own.pid);
    },
  };
};
