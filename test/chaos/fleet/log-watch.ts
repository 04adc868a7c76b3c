import { lifecyclePath } from "../../../src/machines/task/machine.ts";
import type { Entry, RunName } from "../../../src/services/fleet/wire-messages.ts";
import { type FleetWorld, nameOf, recordOf } from "./fleet-world.ts";
import { readPlaces } from "./log-reading.ts";

/** What may fail, and leaves every run with the server that has begun it. */
const LEAVES_RUNS: ReadonlySet<string> = new Set([
  ...["append claimed", "append asked", "append replied", "append ended", "append stopRequested", "append received"],
  ...["enqueue", "isQueued", "renew", "done", "requeue", "release", "limits", "ask", "drain"],
]);

/** How often an end may be received: its origin may not hear that it was. */
const MANY = 9;

/** Checks that the logs of runs say only what they may. */
export const createLogWatch = (world: FleetWorld) => {
  const { broker, fault } = world;
  /** How many entries each log had when it was looked at last. */
  const seen = new Map<string, number>();
  /** How often each run was begun, whatever the broker has forgotten. */
  const begun = new Map<string, number>();

  const checkCounts = () => {
    for (const { id, records } of world.origins) {
      for (const { task, snapshot } of records.all()) {
        const name = nameOf({ origin: id, task: task.sessionID, run: task.resumeCount });
        const [counted = 0, times = 0] = [snapshot.context.remote?.attempts.length, begun.get(name)];
        if (counted > times) fault(`${name} was begun ${times} times, and its origin has counted ${counted}`);
      }
    }
  };

  const check = (name: string) => {
    const places = broker.placesIn(name);
    const entries = places.map(({ entry }) => entry);
    const { claims } = readPlaces(places);
    const all = entries.filter(({ type }) => type === "claimed").length;
    if (all > claims.length) fault(`${name} was claimed after its end`);
    const first = claims.flatMap(({ entry }) => (entry.replaces ? [] : entry.nonce));
    if (new Set(first).size < first.length) fault(`one claim of ${name} is told by nothing from another one`);
    // A server claims anew what the broker has forgotten, to say how it ended.
    const recalled = entries.findIndex(
      (entry, place) => entry.type === "claimed" && !entry.replaces && entries[place - 1]?.type === "stopRequested",
    );
    if (recalled >= 0 && readPlaces(places.slice(0, recalled)).isStopRequested)
      fault(`${name} was claimed, though it is to stop`);
    if (entries.some(({ type }) => type === "stopRequested") && !world.cancelTried.has(name))
      fault(`${name} is to stop, though nobody wants that`);
    if (entries.some((entry) => entry.type === "ended" && !entry.claim && entry.outcome === "completed"))
      fault(`${name} was completed by nobody who had claimed it`);
    if (claims.length > 1 && [...world.troubles].every((trouble) => LEAVES_RUNS.has(trouble)))
      fault(`${name} was begun anew, though nothing failed`);
    if (entries.filter(({ type }) => type === "received").length > MANY) fault(`${name} is received for ever`);
    if (world.forgotAt > 0) return;
    const received = entries.findIndex(({ type }) => type === "received");
    const ended = entries.findIndex(({ type }) => type === "ended");
    if (received >= 0 && (ended < 0 || ended > received))
      fault(`the end of ${name} was received before it was written`);
  };

  /** An origin closes what it takes back, or has given up; it a run to the server that has begun it. */
  const onWritten = (log: RunName, entry: Entry) => {
    if (entry.type === "claimed" && !entry.replaces) begun.set(nameOf(log), (begun.get(nameOf(log)) ?? 0) + 1);
    if (entry.type === "claimed" && !entry.replaces) {
      const server = world.servers.find(({ id }) => id === entry.server.id);
      const holder = broker.holderOf(`run.${nameOf(log)}`);
      // Whoever stood still may find the log as it was, and the lease with another one.
      const isSteady = [...world.troubles].every((trouble) => LEAVES_RUNS.has(trouble) || trouble.startsWith("die"));
      if (holder !== entry.server.id && isSteady && server && !server.line.isBad())
        fault(`${entry.server.id} claims ${nameOf(log)}, which ${holder ?? "nobody"} holds`);
    }
    if (entry.type !== "ended") return;
    if (entry.claim) {
      const { ended } = readPlaces(broker.placesIn(nameOf(log)));
      if (!ended) fault(`an end of ${nameOf(log)} was written that counts for nothing`);
      return;
    }
    const origin = world.origins.find(({ id }) => id === log.origin);
    const snapshot = origin && recordOf(origin, log.task)?.snapshot;
    const claimed = readPlaces(broker.placesIn(nameOf(log)).slice(0, -1)).claims.at(-1)?.entry.server.id;
    if (!origin || !snapshot || snapshot.context.run.index !== log.run || origin.line.isBad()) return;
    const state = lifecyclePath(snapshot);
    const isHeld = claimed !== undefined && broker.holderOf(`run.${nameOf(log)}`) === claimed;
    const isWithdrawn = state.endsWith("fleet.unclaimed.withdrawing") && !isHeld;
    if (!/fleet/.test(state) || state.endsWith("fleet.stopping.closing") || isWithdrawn) return;
    fault(`${nameOf(log)} is closed, though ${claimed ?? "nobody"} has begun it (${state})`);
  };

  return {
    onWritten,
    look: () => {
      checkCounts();
      for (const [name, entries] of broker.logs()) {
        if (seen.get(name) === entries.length) continue;
        seen.set(name, entries.length);
        check(name);
      }
    },
  };
};
