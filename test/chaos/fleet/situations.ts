import { statePath } from "../../../src/machines/chart.ts";
import { isInFleet } from "../../../src/machines/task/slot.ts";
import type { Entry, RunName } from "../../../src/services/fleet/wire-messages.ts";
import type { TaskRecord } from "../../../src/services/store/store.ts";
import { nameOfTransition } from "../../model/transitions.ts";
import { createTally, type Tally } from "../tally.ts";
import { type FleetObserver, type FleetWorld, nameOf, recordOf, type Server, type Work } from "./fleet-world.ts";
import { readPlaces } from "./log-reading.ts";
import { inHand } from "./phases.ts";
import {
  entryMeets,
  isOfFleet,
  MEETINGS,
  NAMES,
  originIs,
  originMeets,
  runIs,
  runMeets,
  type State,
  serverMeets,
  type ToRuns,
  type ToServer,
  troubleOf,
  type View,
  type Written,
} from "./situation-names.ts";

/** Counts in how many schedules each situation of a fleet has occurred. */
export interface FleetSituations extends FleetObserver, Omit<Tally, "note"> {}

/** The state of a run at its origin. */
const stateOf = ({ snapshot }: Pick<TaskRecord, "snapshot">): State =>
  isInFleet(snapshot) ? (statePath(snapshot.value.run).split(".").at(-1) as State) : "here";

/** How the origin of a run is with it. */
const viewOf = (world: FleetWorld, { origin: id, task, run }: RunName): View => {
  const origin = world.origins.find((server) => server.id === id);
  if (!origin || origin.stage.life.isOver()) return "dead";
  if (origin.stage.life.isPaused()) return "asleep";
  if (origin.line.isCut()) return "cutOff";
  const snapshot = recordOf(origin, task)?.snapshot;
  if (!snapshot || snapshot.context.run.index !== run) return "earlier";
  return snapshot.context.completedAt === undefined ? stateOf({ snapshot }) : "over";
};

const kindOf = (world: FleetWorld, log: RunName, entry: Entry): Written => {
  const places = world.broker.placesIn(nameOf(log));
  if (entry.type === "claimed") {
    if (entry.replaces) return "claimAnew";
    return readPlaces(places).claims.length > 1 ? "claim" : "firstClaim";
  }
  if (entry.type !== "ended") return entry.type;
  return entry.claim ? "ended" : "closed";
};

/** The runs under way that were launched on a server and are for others, with their states. */
const runsOf = ({ id, records }: Server): { run: string; state: State }[] =>
  records.all().flatMap(({ task: { sessionID }, snapshot }) => {
    if (!snapshot.context.facts.fleet || snapshot.context.completedAt !== undefined) return [];
    return [
      { run: nameOf({ origin: id, task: sessionID, run: snapshot.context.run.index }), state: stateOf({ snapshot }) },
    ];
  });

/** How a server is. */
interface Condition {
  isOver: boolean;
  isAsleep: boolean;
  isCut: boolean;
}

const ALL_WELL: Condition = { isOver: false, isAsleep: false, isCut: false };

const howIs = ({ stage: { life }, line }: Server): Condition => ({
  isOver: life.isOver(),
  isAsleep: !life.isOver() && life.isPaused(),
  isCut: line.isCut(),
});

const changes = (before: Condition, now: Condition): ToServer[] => {
  const changed = (key: keyof Condition, begins: ToServer, ends: ToServer) =>
    before[key] === now[key] ? [] : [now[key] ? begins : ends];
  return [
    ...changed("isOver", "dies", "starts"),
    ...(now.isOver || before.isOver ? [] : changed("isAsleep", "sleeps", "wakes")),
    ...changed("isCut", "loses", "reaches"),
  ];
};

/** Creates the counters. */
export const createFleetSituations = (): FleetSituations => {
  const { note, ...tally } = createTally(NAMES);
  const known = new WeakMap<Server, Condition>();
  const wereAway = new WeakMap<FleetWorld, boolean>();

  const happensTo = (world: FleetWorld, server: Server, what: ToServer) => {
    for (const { run, phase, server: holder } of inHand(world)) {
      if (holder === server) note(serverMeets(what, phase));
      if (run.startsWith(`${server.id}.`)) note(originMeets(what, phase));
    }
    for (const { state } of runsOf(server)) note(originIs(what, state));
  };

  const happensToRuns = (world: FleetWorld, what: ToRuns, which: (run: string) => boolean) => {
    for (const { run, phase } of inHand(world)) if (which(run)) note(runMeets(what, phase));
    for (const { run, state } of world.origins.flatMap(runsOf)) if (which(run)) note(runIs(what, state));
  };

  const meet = ({ broker }: FleetWorld, { server, run }: Work, works: readonly Work[]) => {
    if (run.startsWith(`${server.id}.`)) return;
    const holder = broker.holderOf(`run.${run}`);
    if (holder === undefined) note(MEETINGS.lapsed);
    else if (holder !== server.id) note(MEETINGS.heldElsewhere);
    for (const other of works) {
      if (other.run !== run || other.server === server) continue;
      note(run.startsWith(`${other.server.id}.`) ? MEETINGS.withOrigin : MEETINGS.together);
    }
  };

  return {
    ...tally,
    inspect: (observation) => {
      if (observation.type !== "@xstate.microstep") return;
      for (const definition of observation._transitions) {
        const name = nameOfTransition(definition);
        if (definition.source.machine.id === "task" && isOfFleet(name)) note(`chart: ${name}`);
      }
    },
    onTrouble: (call, is) => note(troubleOf(call, is)),
    onWritten: (world, log, entry) => note(entryMeets(kindOf(world, log, entry), viewOf(world, log))),
    look: (world, works) => {
      for (const server of world.servers) {
        const [before, now] = [known.get(server) ?? ALL_WELL, howIs(server)];
        known.set(server, now);
        for (const what of changes(before, now)) happensTo(world, server, what);
      }
      if ((wereAway.get(world) ?? false) !== world.broker.isAway()) {
        wereAway.set(world, world.broker.isAway());
        happensToRuns(world, world.broker.isAway() ? "away" : "back", () => true);
      }
      for (const work of works) meet(world, work, works);
    },
    onRuns: (world, what, which = () => true) => happensToRuns(world, what, which),
    onMeeting: (what) => note(MEETINGS[what]),
  };
};
