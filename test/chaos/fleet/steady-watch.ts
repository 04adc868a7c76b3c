import { lifecyclePath } from "../../../src/machines/task/machine.ts";
import { type FleetWorld, isReached, nameOf, type Work } from "./fleet-world.ts";
import { type ReadLog, readPlaces } from "./log-reading.ts";
import { inHand } from "./phases.ts";
import {
  checkHands,
  checkLeases,
  checkOrigins,
  checkQueue,
  checkServers,
  checkShown,
  checkWorks,
  type Moment,
} from "./steady-checks.ts";
import { LEASE } from "./steps.ts";

/** Milliseconds within which all that happens where nothing fails and every hint is heard. */
const AT_ONCE = 10_000;

/** Milliseconds that pass at most from one look at all this to the next. */
const MOST_BETWEEN = 5_000;

/** Creates the watch over what must not last. */
export const createSteadyWatch = (world: FleetWorld) => {
  const { clock, broker } = world;
  /** For how long something has been so. */
  let lasts = new Map<string, number>();

  /** Since when nobody holds a run on which a server was at work, as far as its origin knew. */
  const unheld = new Map<string, { state: string; since: number | undefined }>();

  /** An origin takes a run for lost once nobody has held it for a lease. */
  const checkLost = (run: string, state: string) => {
    const before = unheld.get(run);
    const isHeld = broker.holderOf(`run.${run}`) !== undefined;
    const since = isHeld ? undefined : (before?.since ?? clock.now());
    unheld.set(run, { state, since });
    const isLost =
      before?.state.endsWith("fleet.claimed") && /fleet\.unclaimed\.(enqueuing|pausing|enqueued)$/.test(state);
    if (!isLost || world.forgotAt > 0 || world.broker.isAway()) return;
    const lasted = clock.now() - (before?.since ?? clock.now());
    if (lasted < LEASE - MOST_BETWEEN) world.fault(`${run} is lost, though it was held ${lasted / 1_000} s ago`);
  };

  const checkLostRuns = () => {
    for (const origin of world.origins) {
      for (const { task, snapshot } of origin.records.all()) {
        if (snapshot.context.completedAt !== undefined || !task.fleet) continue;
        checkLost(nameOf({ origin: origin.id, task: task.sessionID, run: task.resumeCount }), lifecyclePath(snapshot));
      }
    }
  };

  const look = (works: readonly Work[], passed: number) => {
    const isCalm = !world.hasTrouble && !world.hasBeenDeaf && world.beginTook === 0;
    const now = new Map<string, number>();
    const logs = new Map<string, ReadLog>();
    const moment: Moment = {
      world,
      works,
      hands: inHand(world),
      notFor: (atMost, who, words) => {
        const ms = isCalm && atMost < LEASE * 2 ? Math.min(atMost, AT_ONCE) : atMost;
        if (!who.every((server) => server && isReached(world, server))) return;
        const lasted = (lasts.get(words) ?? -passed) + passed;
        now.set(words, lasted);
        if (lasted > ms) world.fault(`for ${lasted / 1_000} s, ${words}`);
      },
      logOf: (run) => {
        const log = logs.get(run) ?? readPlaces(broker.placesIn(run));
        logs.set(run, log);
        return log;
      },
    };
    for (const check of [checkWorks, checkShown, checkHands, checkServers, checkOrigins, checkQueue, checkLeases])
      check(moment);
    checkLostRuns();
    lasts = now;
  };

  return { look };
};
