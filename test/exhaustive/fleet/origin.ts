import type { Effect, SupervisorEvent } from "../../../src/machines/supervisor/events.ts";
import type { TaskEvent } from "../../../src/machines/task/events.ts";
import { isInFleet } from "../../../src/machines/task/slot.ts";
import { hasForgotten, type RunLog } from "../../../src/services/fleet/run-log.ts";
import { AT, NONE } from "../charts.ts";
import type { Move } from "../explore.ts";
import { ID, NOBODY, NOWHERE, type Parts, plain, QUEUED, serverOf, type World } from "./world.ts";

/** What happens to a run that is worked on at the origin in the end. */
const HERE: readonly TaskEvent[] = [
  { type: "SLOT_GRANTED", at: AT },
  { type: "PROMPT_ACCEPTED", at: AT },
  { type: "HOST_IDLE", at: AT },
  { type: "CHECKED_ANSWERED", at: AT, checkId: 0, completedAt: AT, result: "12" },
];

/** Creates what the origin of a run does: it queues the run, reads the log, has the run stopped and closed, dies and starts again. */
export const createOrigin = ({ family, charts, chartOf, isUnderWay, isAway, read, move }: Parts) => {
  const { mistake } = family;

  /** Gives the task's chart an event; what it asks for is on its way from then on. */
  const tell = (world: World, event: TaskEvent) => {
    const told: SupervisorEvent = { type: "TASK", id: ID, event };
    const wasAway = isAway(world);
    const { charts: after, effects } = charts.react({ tasks: [world.origin], outbox: NONE }, told);
    world.origin = after.tasks[0] ?? NONE;
    // Where the broker did not take a job, or was not reached to close a run, nobody knows what stands in the log.
    const hasRead = event.type === "REMOTE_LOST" || event.type === "CLOSED";
    const isMissing = hasRead && wasAway && !isAway(world) && read(world).ended?.claim !== undefined;
    world.hasMissedEnd ||= isMissing;
    for (const effect of effects) ask(world, effect);
  };

  const ask = (world: World, { type }: Effect) => {
    if (type !== "enqueueJob" && type !== "readRun" && type !== "requestRemoteStop" && type !== "closeRun") return;
    if (!world.asks.includes(type)) world.asks = [...world.asks, type].toSorted();
  };

  /** Sends the chart all that the log has; it refuses what it knows already. */
  const report = (world: World, found: RunLog) => {
    for (const { at: claim, entry } of found.claims) {
      if (!isAway(world)) return;
      const isNewestForgotten =
        hasForgotten(found, chartOf(world).context.remote) &&
        mistake !== "an origin takes places of a log that was set back for those of before";
      const more = {
        ...(entry.replaces ? { replaces: entry.replaces } : {}),
        ...(isNewestForgotten ? { isNewestForgotten } : {}),
      };
      tell(world, { type: "REMOTE_CLAIMED", at: AT, claim, server: entry.server, ...more });
    }
    if (!found.ended || !isAway(world)) return;
    const { claim, outcome } = found.ended;
    if (!claim) return tell(world, { type: "CLOSED", at: AT });
    const nothing = { result: undefined, error: undefined, receipt: { run: 0 } as never };
    const result = outcome === "completed" ? "12" : undefined;
    tell(world, { type: "REMOTE_ENDED", at: AT, claim, outcome, completedAt: AT, ...nothing, result });
  };

  const reportHolder = (world: World, { ended, claims }: RunLog): boolean => {
    const newest = claims.at(-1);
    const isHeld = newest !== undefined && world.holder >= 0 && serverOf(world.holder).id === newest.entry.server.id;
    if (ended || !isHeld) return false;
    const event = { type: "REMOTE_HELD", at: AT, claim: newest.at } as const;
    if (!chartOf(world).can(event)) return false;
    tell(world, event);
    return true;
  };

  const isToBeClosed = (world: World): boolean => {
    if (!isAway(world)) return true;
    const snapshot = chartOf(world);
    return (
      snapshot.matches({ run: { fleet: { unclaimed: "withdrawing" } } }) ||
      snapshot.matches({ run: { fleet: { stopping: "closing" } } })
    );
  };

  const closeLog = (world: World): boolean => {
    const found = read(world);
    if (found.ended) return true;
    if (!isToBeClosed(world)) return false;
    world.log.push({ ...plain, type: "ended", nonce: "origin", outcome: "cancelled", completedAt: AT });
    return true;
  };

  /** The origin reads the log. */
  const look = (world: World) => {
    const found = read(world);
    report(world, found);
    if (isUnderWay(world)) reportHolder(world, found);
    else if (found.ended?.claim && !found.isReceived) world.log.push({ ...plain, type: "received" });
    if (!found.ended && found.claims.length > 0 && !isAway(world)) closeLog(world);
  };

  const isLost = (world: World): boolean => {
    const { ended, claims } = read(world);
    if (!isAway(world) || ended) return false;
    if (world.holder !== NOBODY && mistake !== "a run is lost while a server holds it") return false;
    return claims.length > 0 || world.job === NOWHERE;
  };

  /** What the origin asked of the broker happens there, or not. */
  const requests = (before: World): Move<World>[] =>
    before.asks.flatMap((what): Move<World>[] => {
      const done = (world: World) => {
        world.asks = world.asks.filter((other) => other !== what);
      };
      const lost = move(before, `${what} is lost`, done, false);
      if (what === "readRun") {
        return [
          move(before, "the origin reads the log", (world) => {
            done(world);
            look(world);
          }),
        ];
      }
      if (what === "requestRemoteStop") {
        const requestStop = move(before, "the origin asks the server to stop", (world) => {
          done(world);
          world.log.push({ ...plain, type: "stopRequested" });
        });
        return family.isUnreliable ? [requestStop, lost] : [requestStop];
      }
      if (what === "closeRun") {
        const close = move(before, "the origin closes the run", (world) => {
          done(world);
          const found = read(world);
          if (mistake !== "an origin closes a run without a look") report(world, found);
          if (isUnderWay(world) && reportHolder(world, found)) return;
          if (closeLog(world)) report(world, read(world));
        });
        return family.isUnreliable ? [close, lost] : [close];
      }
      const offer = (world: World) => {
        done(world);
        if (world.job === NOWHERE) world.job = QUEUED;
      };
      const error = { name: "JobRefused", kind: "fleet", message: "" } as const;
      const refused: TaskEvent = { type: "JOB_REFUSED", at: AT, error, retryable: true };
      const normal = move(before, "the job is queued", (world) => {
        offer(world);
        tell(world, { type: "JOB_ENQUEUED", at: AT });
      });
      const unreliable = [
        move(
          before,
          "the job is queued, and the answer is lost",
          (world) => {
            offer(world);
            tell(world, refused);
          },
          false,
        ),
        move(
          before,
          "the job is lost",
          (world) => {
            done(world);
            tell(world, refused);
          },
          false,
        ),
      ];
      return family.isUnreliable ? [normal, ...unreliable] : [normal];
    });

  const originMoves = (before: World): Move<World>[] => {
    const { context, value } = chartOf(before);
    const isStopping = context.stopAttempts > 0;
    const looks = move(before, "the origin looks into the log", look);
    const tick = (isExpected: boolean) =>
      move(before, "time passes at the origin", (world) => tell(world, { type: "TICK", at: AT }), isExpected);
    // Patience is longer than all that goes on by itself.
    const isWaiting = JSON.stringify(value.run).includes("enqueued");
    const mayTick = context.nextDeadline !== undefined && (!isWaiting || family.isImpatient);
    const isHere = isUnderWay(before) && !isInFleet(chartOf(before));
    const worksHere = (world: World) => {
      for (const event of HERE) tell(world, event);
    };
    return [
      ...requests(before),
      ...(isHere ? [move(before, "the run ends at the origin", worksHere)] : []),
      looks,
      ...(isLost(before)
        ? [move(before, "the run is lost", (world) => tell(world, { type: "REMOTE_LOST", at: AT }))]
        : []),
      ...(mayTick ? [tick(!isWaiting)] : []),
      ...(family.cancels && isAway(before) && !isStopping
        ? [move(before, "a person cancels", (world) => tell(world, { type: "CANCEL", at: AT }), false)]
        : []),
      ...(family.dies && isAway(before)
        ? [
            move(
              before,
              "the origin dies, and starts again",
              (world) => {
                world.asks = [];
                tell(world, { type: "ADOPTED", at: AT, recovery: "continue", isNoticePending: false });
              },
              false,
            ),
          ]
        : []),
    ];
  };

  return { originMoves };
};
