import type { Effect, SupervisorEvent } from "../../src/machines/supervisor/events.ts";
import type { TaskEvent } from "../../src/machines/task/events.ts";
import { isInFleet } from "../../src/machines/task/slot.ts";
import type { Placed } from "../../src/services/fleet/bus.ts";
import { hasForgotten, isOutrun, type RunLog, readLog } from "../../src/services/fleet/log-of-run.ts";
import type { EntryOf } from "../../src/services/fleet/messages.ts";
import type { Claim, FleetServer } from "../../src/task.ts";
import { taskInput } from "../fakes/task-input.ts";
import { AT, createCharts, type Machines, NONE } from "./charts.ts";
import type { Move, Space } from "./explore.ts";

/*
 * How a run of a fleet is ordered, claimed, held and ended: the real chart of the task at its home, the real reading of the log,
 * and around them, in short, what `home.ts`, `worker.ts` and `attended-run.ts` do. The engine decides in which order entries
 * come into the log; it may be away, and it may forget what is newest. `docs/proof.md` lists what is left out.
 */

/** What can happen besides that a server takes the run, works on it, and says how it ended. */
export interface FleetFamily {
  /** The servers that work for others. */
  servers: 1 | 2;
  /** How often the run may be begun. */
  attempts: number;
  /** Servers, and the home, die, and start again with what they have stored. */
  dies?: boolean;
  /** Servers stand still for longer than a lease, and go on. */
  standsStill?: boolean;
  /** How often the engine forgets the newest entries of the log, who holds the run, or its order. */
  forgets?: number;
  /** What the engine is asked is lost, or has happened though nothing is heard of it. */
  isUnreliable?: boolean;
  /** A person cancels the task. */
  cancels?: boolean;
  /** No server begins for so long that the home takes the order back. */
  isImpatient?: boolean;
  machines?: Machines;
  mistake?: FleetMistake;
}

/** Mistakes in what is done around the chart. */
export type FleetMistake =
  | "a claim is written whatever stands in the log"
  | "an end counts whoever has claimed the run since"
  | "a home closes a run without a look"
  | "a run is lost while a server holds it"
  | "a home takes places of a log that was set back for those of before"
  | "a server waits for a home that has closed the run";

interface Server {
  /** It is free; has the order; holds the run; works on it; has an end to write; has written that. */
  phase: "free" | "taken" | "holding" | "working" | "ended" | "written";
  /** How it was claimed last. */
  claim: Claim | null;
  /** How often this server has begun the run: what it writes of each is told apart. */
  begun: number;
  /** It has the order, which it removes in the end. */
  hasDelivery: boolean;
  outcome: "completed" | "cancelled";
}

type Entry = EntryOf<"claimed" | "ended" | "recalled" | "received">;

interface World {
  /** The number of the snapshot of the task's chart. */
  home: number;
  /** What the home asks of the engine. */
  asks: ("sendOrder" | "readRun" | "recallRun" | "closeRun")[];
  servers: Server[];
  epoch: number;
  log: Entry[];
  /** Who holds the run: the number of the server, or -1. */
  holder: number;
  /** Where the order is: nowhere (-2), queued (-1), or with a server. */
  order: number;
  forgotten: number;
  /** The home has ended the run in another way, though its end stood in the log. */
  hasMissedEnd: boolean;
}

const NOWHERE = -2;
const QUEUED = -1;
const NOBODY = -1;

const ID = "ses_0";

const plain = { v: 1, at: AT } as const;

/** What happens to a run that is worked on at home in the end. */
const HERE: readonly TaskEvent[] = [
  { type: "SLOT_GRANTED", at: AT },
  { type: "PROMPT_ACCEPTED", at: AT },
  { type: "HOST_IDLE", at: AT },
  { type: "CHECKED_ANSWERED", at: AT, checkId: 0, completedAt: AT, result: "12" },
];

const serverOf = (s: number): FleetServer => ({ id: `server_${s}`, label: "AB"[s] ?? "" });

/** Creates the space of all worlds of a family. */
export const createFleet = (family: FleetFamily): Space<World> => {
  const { mistake } = family;
  const charts = createCharts([ID], family.machines);

  const chartOf = ({ home }: World) => charts.tasks.at(home);
  const isUnderWay = (world: World): boolean => chartOf(world).context.completedAt === undefined;
  const isAway = (world: World): boolean => isUnderWay(world) && isInFleet(chartOf(world));

  const placed = ({ log, epoch }: World): Placed[] =>
    log.map((entry, index) => ({ at: { epoch, seq: index + 1 }, entry }));
  const read = (world: World): RunLog => readLog(placed(world));

  /** A copy that may be changed. */
  const copy = (world: World): World => ({
    ...world,
    asks: [...world.asks],
    servers: world.servers.map((server) => ({ ...server })),
    log: [...world.log],
  });

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

  const move = (before: World, name: string, work: (world: World) => void, isExpected = true): Move<World> => {
    const after = copy(before);
    work(after);
    return { name, after, isExpected };
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

  const nonceOf = (s: number, { begun }: Server): string => `server_${s} ${begun}`;

  /** The server lets go of the run, and of what it has of it. */
  const letGo = (world: World, s: number) => {
    const server = world.servers[s] as Server;
    if (server.hasDelivery && world.order === s) world.order = NOWHERE;
    if (world.holder === s) world.holder = NOBODY;
    Object.assign(server, { phase: "free", claim: null, hasDelivery: false, outcome: "completed" });
  };

  const putBack = (world: World, s: number) => {
    const server = world.servers[s] as Server;
    if (world.order === s) world.order = QUEUED;
    if (world.holder === s) world.holder = NOBODY;
    Object.assign(server, { phase: "free", claim: null, hasDelivery: false });
  };

  /** Takes the run, or ends it where it may not be taken; see `claimOrEnd`. */
  const claim = (world: World, s: number) => {
    const server = world.servers[s] as Server;
    const found = read(world);
    if (found.ended) return letGo(world, s);
    const mayClaim = !found.isRecalled && found.claims.length < family.attempts;
    if (mayClaim || mistake === "a claim is written whatever stands in the log") {
      server.begun += 1;
      // The nonce of a claim that is not written anew is a fresh one.
      world.log.push({ ...plain, type: "claimed", nonce: `claim ${s} ${server.begun}`, server: serverOf(s) });
      server.claim = { epoch: world.epoch, seq: world.log.length };
      server.phase = "working";
      return;
    }
    const newest = found.claims.at(-1)?.at;
    const end = {
      ...plain,
      nonce: `end ${s}`,
      outcome: found.isRecalled ? "cancelled" : "error",
      completedAt: AT,
    } as const;
    world.log.push({ ...end, type: "ended", ...(newest ? { claim: newest } : {}) });
    letGo(world, s);
  };

  /** Reads the log, and knows its own newest claim in it. */
  const readAs = (world: World, s: number): { server: Server; found: RunLog; nonce: string } => {
    const server = world.servers[s] as Server;
    const found = read(world);
    const nonce = nonceOf(s, server);
    const newest = found.claims.at(-1);
    if (newest?.entry.nonce === nonce) server.claim = newest.at;
    return { server, found, nonce };
  };

  /** Claims the run anew in a log that has forgotten all claims. */
  const claimAnew = (world: World, s: number, { server, nonce }: { server: Server; nonce: string }) => {
    const replaces = server.claim ? { replaces: server.claim } : {};
    world.log.push({ ...plain, type: "claimed", nonce, server: serverOf(s), ...replaces });
    server.claim = { epoch: world.epoch, seq: world.log.length };
  };

  /** Reads what others have written of the run that this server works on, see `check`. */
  const check = (world: World, s: number) => {
    const { server, found, nonce } = readAs(world, s);
    if (server.claim && isOutrun(found, server.claim)) return letGo(world, s);
    if (found.claims.length === 0) return claimAnew(world, s, { server, nonce });
    if (found.isRecalled) Object.assign(server, { phase: "ended", outcome: "cancelled" });
  };

  /** Renews the hold, see `holding.ts`: what another server has is lost. */
  const renew = (world: World, s: number) => {
    if (world.holder === NOBODY) world.holder = s;
    if (world.holder === s) return check(world, s);
    letGo(world, s);
  };

  /** Takes one step to write the end, see `writeEnd`. */
  const writeEnd = (world: World, s: number) => {
    const { server, found, nonce } = readAs(world, s);
    const written = () => {
      if (server.hasDelivery && world.order === s) world.order = NOWHERE;
      if (world.holder === s) world.holder = NOBODY;
      Object.assign(server, { phase: "written", hasDelivery: false });
    };
    if (found.ended?.nonce === nonce) return written();
    const newest = found.claims.at(-1);
    const takesAny = mistake === "an end counts whoever has claimed the run since";
    if (found.ended || (server.claim && isOutrun(found, server.claim) && !takesAny)) return letGo(world, s);
    if (!newest) return claimAnew(world, s, { server, nonce });
    const claim = takesAny ? newest.at : server.claim;
    const end = { ...plain, nonce, outcome: server.outcome, completedAt: AT } as const;
    world.log.push({ ...end, type: "ended", ...(claim ? { claim } : {}) });
    written();
  };

  const serverMoves = (before: World, s: number): Move<World>[] => {
    const { phase } = before.servers[s] as Server;
    const name = "AB"[s] ?? "";
    const does = (what: string, work: (world: World, server: Server) => void, isExpected = true) =>
      move(before, `${name} ${what}`, (world) => work(world, world.servers[s] as Server), isExpected);
    const moves: Move<World>[] = [];
    if (phase === "free" && before.order === QUEUED) {
      moves.push(
        does("takes the order", (world, server) => {
          world.order = s;
          Object.assign(server, { phase: "taken", hasDelivery: true });
        }),
      );
    }
    if (phase === "taken") {
      moves.push(
        does("takes the hold", (world, server) => {
          if (world.holder !== NOBODY) return putBack(world, s);
          world.holder = s;
          server.phase = "holding";
        }),
      );
    }
    if (phase === "holding") {
      moves.push(does("claims the run", (world) => claim(world, s)));
      if (family.dies) {
        moves.push(
          does(
            "claims the run, and dies before it begins",
            (world, server) => {
              claim(world, s);
              Object.assign(server, { phase: "free", claim: null, hasDelivery: false });
            },
            false,
          ),
        );
      }
    }
    if (phase === "working") {
      moves.push(does("renews what it holds", (world) => renew(world, s)));
      moves.push(does("has finished", (_, server) => Object.assign(server, { phase: "ended" })));
    }
    if (phase === "ended") moves.push(does("writes the end", (world) => writeEnd(world, s)));
    if (phase === "written") {
      const { ended, isReceived } = read(before);
      const isOthers = ended !== undefined && ended.nonce !== nonceOf(s, before.servers[s] as Server);
      const isOver = isOthers && mistake !== "a server waits for a home that has closed the run";
      if (isReceived || !ended || isOver) moves.push(does("settles the run", (world) => letGo(world, s)));
    }
    const isTaking = phase === "taken" || phase === "holding";
    if (family.dies && phase !== "free") {
      moves.push(
        does(
          "dies, and starts again",
          (_, server) => {
            if (isTaking) Object.assign(server, { phase: "free", claim: null });
            server.hasDelivery = false;
          },
          false,
        ),
      );
    }
    return moves;
  };

  /** What the engine does when nothing is renewed for the time of a lease. */
  const leases = (before: World): Move<World>[] => {
    const { holder, order } = before;
    const holds = holder >= 0 && ["holding", "working", "ended"].includes(before.servers[holder]?.phase ?? "free");
    const isKept = order >= 0 && before.servers[order]?.hasDelivery === true;
    return [
      ...(holder >= 0 && (!holds || family.standsStill)
        ? [move(before, "the hold lapses", (world) => void Object.assign(world, { holder: NOBODY }), !holds)]
        : []),
      ...(order >= 0 && (!isKept || family.standsStill)
        ? [move(before, "the order is offered again", (world) => void Object.assign(world, { order: QUEUED }), !isKept)]
        : []),
    ];
  };

  const forgets = (before: World): Move<World>[] => {
    if (before.forgotten >= (family.forgets ?? 0)) return [];
    const forget = (what: string, work: (world: World) => void) =>
      move(
        before,
        `the engine forgets ${what}`,
        (world) => {
          work(world);
          world.forgotten += 1;
        },
        false,
      );
    return [
      ...before.log.map((_, kept) =>
        forget(`all but ${kept} of ${before.log.length} entries`, (world) => {
          world.log = world.log.slice(0, kept);
        }),
      ),
      ...(before.order !== NOWHERE
        ? [forget("the order", (world) => void Object.assign(world, { order: NOWHERE }))]
        : []),
      forget("everything", (world) =>
        Object.assign(world, { log: [], order: NOWHERE, holder: NOBODY, epoch: world.epoch + 1 }),
      ),
    ];
  };

  /** Where no server is lost. */
  const isSteady = !family.dies && !family.standsStill && !family.isUnreliable;

  /** Where nothing fails, nobody interferes, and nobody is impatient. */
  const isCalm = !["dies", "standsStill", "isUnreliable", "forgets", "cancels", "isImpatient"].some(
    (what) => what in family,
  );

  const faultsOf = (world: World): string[] => {
    // What the engine has forgotten is begun anew, and counted anew; all that is promised then is that it ends.
    if (world.forgotten > 0) return [];
    const { ended, claims } = read(world);
    const { context } = chartOf(world);
    const begun = world.servers.reduce((sum, server) => sum + server.begun, 0);
    const newest = claims.at(-1);
    const isByServer = ended?.nonce.startsWith("server_") === true;
    const isWrong = isByServer && !ended.nonce.startsWith(`${newest?.entry.server.id} `);
    const isHere = isUnderWay(world) && !isInFleet(chartOf(world));
    const faults: [boolean, string][] = [
      [begun > family.attempts, "a run is begun more often than it may"],
      [world.hasMissedEnd, "the home has another end than the log had"],
      [isWrong, "an end counts of a server that does not have the run any more"],
      [(context.remote?.attempts ?? 0) > claims.length, "a claim counts twice"],
      [isHere && claims.length > 0 && isSteady, "a run is worked on at home that a server has begun"],
      [isCalm && context.lastRunResult?.outcome === "error", "a run fails though nothing does"],
    ];
    return faults.flatMap(([is, what]) => (is ? what : []));
  };

  const first = (): World => {
    const fleet = { pool: "p", commit: "c", attempts: family.attempts, patience: 1 };
    const world: World = {
      home: charts.begin(taskInput(ID, { fleet }, AT)),
      asks: ["sendOrder"],
      servers: Array.from({ length: family.servers }, () => ({
        phase: "free",
        claim: null,
        begun: 0,
        hasDelivery: false,
        outcome: "completed",
      })),
      epoch: 1,
      log: [],
      holder: NOBODY,
      order: NOWHERE,
      forgotten: 0,
      hasMissedEnd: false,
    };
    return world;
  };

  return {
    first: first(),
    moves: (world) => [
      ...homeMoves(world),
      ...world.servers.flatMap((_, s) => serverMoves(world, s)),
      ...leases(world),
      ...forgets(world),
    ],
    // The same fields in the same order, however the world came about.
    keyOf: ({ home, asks, servers, epoch, log, holder, order, forgotten, hasMissedEnd }) =>
      JSON.stringify({
        ...{ home, asks, epoch, log, holder, order, forgotten, hasMissedEnd },
        servers: servers.map(({ phase, claim, begun, hasDelivery, outcome }) => ({
          ...{ phase, claim, begun, hasDelivery, outcome },
        })),
      }),
    worldOf: (key) => JSON.parse(key) as World,
    faultsOf,
    isOver: (world) =>
      !isUnderWay(world) &&
      world.asks.length === 0 &&
      world.servers.every(({ phase }) => phase === "free") &&
      world.order === NOWHERE,
  };
};
