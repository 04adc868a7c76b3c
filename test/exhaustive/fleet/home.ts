import type { Effect, SupervisorEvent } from "../../../src/machines/supervisor/events.ts";
import type { TaskEvent } from "../../../src/machines/task/events.ts";
import { isInFleet } from "../../../src/machines/task/slot.ts";
import { hasForgotten, type RunLog } from "../../../src/services/fleet/log-of-run.ts";
import { AT, NONE } from "../charts.ts";
import type { Move } from "../explore.ts";
import { ID, NOBODY, NOWHERE, type Parts, plain, QUEUED, serverOf, type World } from "./world.ts";

/** What happens to a run that is worked on at home in the end. */
const HERE: readonly TaskEvent[] = [
  { type: "SLOT_GRANTED", at: AT },
  { type: "PROMPT_ACCEPTED", at: AT },
  { type: "HOST_IDLE", at: AT },
  { type: "CHECKED_ANSWERED", at: AT, checkId: 0, completedAt: AT, result: "12" },
];

/** Creates what the home of a run does: it orders, reads the log, has the run stopped and closed, dies and starts again. */
export const createHome = ({ family, charts, chartOf, isUnderWay, isAway, read, move }: Parts) => {
  const { mistake } = family;

  /** Gives the task's chart an event; what it asks for is on its way from then on. */
  const tell = (world: World, event: TaskEvent) => {
    const told: SupervisorEvent = { type: "TASK", id: ID, event };
    const wasAway = isAway(world);
    const { charts: after, effects } = charts.react({ tasks: [world.home], outbox: NONE }, told);
    world.home = after.tasks[0] ?? NONE;
    // Where the engine did not take an order, or was not reached to close a run, nobody knows what stands in the log.
    const hasRead = event.type === "REMOTE_LOST" || event.type === "CLOSED";
    const isMissing = hasRead && wasAway && !isAway(world) && read(world).ended?.claim !== undefined;
    world.hasMissedEnd ||= isMissing;
    for (const effect of effects) ask(world, effect);
  };

  const ask = (world: World, { type }: Effect) => {
    if (type !== "sendOrder" && type !== "readRun" && type !== "recallRun" && type !== "closeRun") return;
    if (!world.asks.includes(type)) world.asks = [...world.asks, type].toSorted();
  };

  /** Tells the chart all that the log says; what it knows already, it refuses. */
  const report = (world: World, found: RunLog) => {
    for (const { at: claim, entry } of found.claims) {
      if (!isAway(world)) return;
      const isNewestForgotten =
        hasForgotten(found, chartOf(world).context.remote) &&
        mistake !== "a home takes places of a log that was set back for those of before";
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
    return snapshot.matches({ run: { fleet: "withdrawing" } }) || snapshot.matches({ run: { fleet: "closing" } });
  };

  const closeLog = (world: World): boolean => {
    const found = read(world);
    if (found.ended) return true;
    if (!isToBeClosed(world)) return false;
    world.log.push({ ...plain, type: "ended", nonce: "home", outcome: "cancelled", completedAt: AT });
    return true;
  };

  /** The home reads the log. */
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
    return claims.length > 0 || world.order === NOWHERE;
  };

  /** What the home asked of the engine happens there, or not. */
  const requests = (before: World): Move<World>[] =>
    before.asks.flatMap((what): Move<World>[] => {
      const done = (world: World) => {
        world.asks = world.asks.filter((other) => other !== what);
      };
      const lost = move(before, `${what} is lost`, done, false);
      if (what === "readRun") {
        return [
          move(before, "the home reads the log", (world) => {
            done(world);
            look(world);
          }),
        ];
      }
      if (what === "recallRun") {
        const recall = move(before, "the home asks the server to stop", (world) => {
          done(world);
          world.log.push({ ...plain, type: "recalled" });
        });
        return family.isUnreliable ? [recall, lost] : [recall];
      }
      if (what === "closeRun") {
        const close = move(before, "the home closes the run", (world) => {
          done(world);
          const found = read(world);
          if (mistake !== "a home closes a run without a look") report(world, found);
          if (isUnderWay(world) && reportHolder(world, found)) return;
          if (closeLog(world)) report(world, read(world));
        });
        return family.isUnreliable ? [close, lost] : [close];
      }
      const offer = (world: World) => {
        done(world);
        if (world.order === NOWHERE) world.order = QUEUED;
      };
      const error = { name: "OrderRefused", kind: "fleet", message: "" } as const;
      const refused: TaskEvent = { type: "ORDER_REFUSED", at: AT, error, retryable: true };
      const normal = move(before, "the order is queued", (world) => {
        offer(world);
        tell(world, { type: "ORDERED", at: AT });
      });
      const unreliable = [
        move(
          before,
          "the order is queued, and the answer is lost",
          (world) => {
            offer(world);
            tell(world, refused);
          },
          false,
        ),
        move(
          before,
          "the order is lost",
          (world) => {
            done(world);
            tell(world, refused);
          },
          false,
        ),
      ];
      return family.isUnreliable ? [normal, ...unreliable] : [normal];
    });

  const homeMoves = (before: World): Move<World>[] => {
    const { context, value } = chartOf(before);
    const isStopping = context.stopAttempts > 0;
    const looks = move(before, "the home looks into the log", look);
    const tick = (isExpected: boolean) =>
      move(before, "time passes at home", (world) => tell(world, { type: "TICK", at: AT }), isExpected);
    // Patience is longer than all that goes on by itself.
    const isWaiting = JSON.stringify(value.run).includes("ordered");
    const mayTick = context.nextDeadline !== undefined && (!isWaiting || family.isImpatient);
    const isHere = isUnderWay(before) && !isInFleet(chartOf(before));
    const worksHere = (world: World) => {
      for (const event of HERE) tell(world, event);
    };
    return [
      ...requests(before),
      ...(isHere ? [move(before, "the run ends at home", worksHere)] : []),
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
              "the home dies, and starts again",
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

  return { homeMoves };
};
