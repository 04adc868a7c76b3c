import { initialTransition, transition } from "xstate";
import { statePath } from "../../src/machines/chart.ts";
import type { TaskEvent } from "../../src/machines/task/events.ts";
import { isStopping, type TaskSnapshot, taskMachine } from "../../src/machines/task/machine.ts";
import { retriesAtOf, slotOf, slotRequestOf } from "../../src/machines/task/slot.ts";
import { GOES_AHEAD_MS, limitsFor } from "../../src/machines/task/slot-queue.ts";
import { type SlotRow, startable } from "../fakes/queue-in-memory.ts";
import { START, taskInput } from "../fakes/task-input.ts";
import {
  ended,
  holds,
  type Kind,
  type Known,
  type Limits,
  queued,
  type Reference,
  starters,
} from "./capacity-reference.ts";

/** Several tasks on few slots: their charts, and beside them what the specification says of them. */
export interface World {
  /** Counts the moves that take time. */
  now: number;
  charts: Readonly<Record<string, TaskSnapshot>>;
  reference: Reference;
}

/** What can happen next, in words, and the world after it. */
export interface Move {
  name: string;
  /** The tasks that it starts, and those that it should. */
  started?: readonly string[];
  expected?: readonly string[];
  after: World;
}

export interface Family {
  kinds: Record<string, Kind>;
  limits: Limits;
  /** The moves that have happened when it is first looked at. */
  begin?: readonly string[];
}

/** How long a provider refuses, in moves that take time. */
const REFUSED_FOR = 3;

/** How often a run is continued that finishes no step in between. */
const CONTINUED = 2;

const fault = { name: "APIError", kind: "host", message: "401" } as const;

const atOf = ({ now }: World): number => START + now;

/** The rows of the queue, made of the charts alone. */
const rowsOf = ({ charts }: World, { limits }: Family): SlotRow[] => {
  const concurrency = {
    default: limits.total,
    providers: limits.providers ?? {},
    models: {},
    agents: limits.agents ?? {},
  };
  return Object.values(charts).flatMap((chart) => {
    const state = slotOf(chart);
    if (state === "none") return [];
    const request = slotRequestOf(chart.context);
    const retriesAt = retriesAtOf(chart);
    return [{ ...request, limits: limitsFor(request, concurrency), isHeld: state === "held", retriesAt }];
  });
};

/** The tasks that hold a slot, and those that wait for one, as the charts say. */
export const slotsOf = ({ charts }: World): { held: string[]; waiting: string[] } => {
  const inState = (state: string) =>
    Object.keys(charts).filter((name) => charts[name] && slotOf(charts[name]) === state);
  return { held: inState("held"), waiting: inState("waiting") };
};

const runOf = (chart: TaskSnapshot): string => statePath(chart.value.run);

/** Steps that were taken: most worlds differ in one chart only, and a step costs more than all else together. */
const taken = new WeakMap<TaskSnapshot, Map<string, TaskSnapshot>>();

const stepOf = (before: TaskSnapshot, event: TaskEvent): TaskSnapshot => {
  const steps = taken.get(before) ?? new Map<string, TaskSnapshot>();
  taken.set(before, steps);
  const key = JSON.stringify(event);
  const known = steps.get(key);
  if (known) return known;
  const [after] = transition(taskMachine, before, event);
  steps.set(key, after);
  return after;
};

/** Creates all that can happen in a world of these tasks. */
export const createMoves = (family: Family) => {
  const { kinds, limits } = family;

  const feed = (world: World, name: string, event: { type: TaskEvent["type"] } & Record<string, unknown>): World => {
    const before = world.charts[name];
    if (!before) throw new Error(`${name} was not launched`);
    const checkId = event.type.startsWith("CHECK") ? { checkId: before.context.checkId } : {};
    // Time matters to a chart only while its provider refuses: otherwise steps would not be found among those taken.
    const isTimed =
      before.context.retry !== undefined || "until" in event || event.type === "RESUME" || event.type === "RETRY";
    const at = isTimed ? atOf(world) : before.context.run.startedAt;
    const after = stepOf(before, { at, ...checkId, ...event } as TaskEvent);
    return { ...world, charts: { ...world.charts, [name]: after } };
  };

  const know = (world: World, name: string, known: Partial<Known>): World => {
    const before = world.reference[name];
    return before ? { ...world, reference: { ...world.reference, [name]: { ...before, ...known } } } : world;
  };

  /** The run has ended: the engine tells the task that launched it, in the same step. */
  const end = (world: World, name: string): World => {
    const { parent } = kinds[name] ?? {};
    const told =
      parent !== undefined && world.charts[parent]
        ? feed(world, parent, { type: "OWN_TASK_ENDED", taskId: name })
        : world;
    return { ...told, reference: ended(told.reference, name, kinds) };
  };

  const later = (world: World): World => ({ ...world, now: world.now + 1 });

  /** Charts as they begin, by name and time. */
  const begun = new Map<string, TaskSnapshot>();

  const chartOf = (name: string, { provider, agent, priority, parent }: Kind, at: number): TaskSnapshot => {
    const key = `${name} ${at}`;
    const known = begun.get(key);
    if (known) return known;
    const model = provider === undefined ? undefined : { providerID: provider, modelID: "m1" };
    const facts = { agent, priority, model, ...(parent === undefined ? {} : { parentTaskId: parent }) };
    const [chart] = initialTransition(taskMachine, taskInput(name, facts, at));
    begun.set(key, chart);
    return chart;
  };

  const launch = (world: World, name: string, kind: Kind): World =>
    later({
      ...world,
      charts: { ...world.charts, [name]: chartOf(name, kind, atOf(world)) },
      reference: { ...world.reference, [name]: queued(world.now) },
    });

  const goOn = (world: World, name: string, type: "RESUME" | "RETRY"): World => {
    const told = ["NOTICE_COMPOSED" as const, "NOTICE_ACKNOWLEDGED" as const].reduce(
      (now, type) => feed(now, name, { type }),
      world,
    );
    const budgetFrom = { toolCalls: 0, tokens: 0, cost: 0 };
    const resumed = feed(told, name, { type, messageID: "msg_2", partID: "prt_2", prompt: "more", budgetFrom });
    return later({ ...resumed, reference: { ...resumed.reference, [name]: queued(world.now) } });
  };

  /** All processes that wait ask for slots. */
  const serve = (world: World): Move | undefined => {
    const granted = startable(rowsOf(world, family), atOf(world));
    const expected = starters(world.reference, kinds, limits, world.now);
    if (granted.length === 0 && expected.length === 0) return undefined;
    const charts = granted.reduce((now, name) => feed(now, name, { type: "SLOT_GRANTED" }), world);
    const after = expected.reduce((now, name) => know(now, name, { phase: "working" }), charts);
    return { name: `slots for ${granted.join(" and ")}`, started: granted, expected, after };
  };

  /** The process ends, and another one takes over: what tasks waited for was lost with it. */
  const crash = (world: World): World => {
    const live = Object.keys(world.charts).filter((name) => world.reference[name]?.phase !== "ended");
    const free = { asksPerson: false, awaitsOwn: false, refusedUntil: 0 };
    return live.reduce((now, name) => {
      const adopted = feed(now, name, { type: "ADOPTED", recovery: "continue", isNoticePending: false });
      const chart = adopted.charts[name];
      // One that is being stopped does not take its slot again: it only ends.
      const isBeingStopped = chart !== undefined && isStopping(chart);
      return know(adopted, name, isBeingStopped ? free : { ...free, blockedBy: [] });
    }, world);
  };

  /** What can happen to one task that was launched, and has not ended. */
  const movesOf = (world: World, name: string, chart: TaskSnapshot, known: Known): Move[] => {
    const run = runOf(chart);
    const take = (type: TaskEvent["type"], given: Record<string, unknown> = {}) =>
      feed(world, name, { type, ...given });
    const move = (what: string, after: World): Move => ({ name: `${name}: ${what}`, after });
    const ownLive = Object.keys(world.reference).filter(
      (other) => kinds[other]?.parent === name && world.reference[other]?.phase !== "ended",
    );
    const isStoppingRun = isStopping(chart);
    const isChecked = run === "active.checking.asking.verifying" || run === "active.checking.asking.recovering";
    const isActive = run === "active.working.busy" && !known.asksPerson && known.blockedBy.length === 0;
    const isAskedAgain = chart.context.retry !== undefined && chart.context.retry.until <= atOf(world);
    const checked = { completedAt: START, result: "12" };
    const moves: (Move | false)[] = [
      run === "queued" && move("is beyond a limit", take("LIMIT_EXCEEDED", { error: { ...fault, kind: "budget" } })),
      run === "queued" && move("is cancelled in the queue", end(take("CANCEL"), name)),
      run !== "queued" &&
        !isStoppingRun &&
        move("is cancelled", know(take("CANCEL"), name, { awaitsOwn: false, refusedUntil: 0 })),
      isStoppingRun && move("has stopped", end(take("STOPPED"), name)),
      move("is deleted", end(take("SESSION_DELETED"), name)),
      run === "active.prompting.sending" && move("is accepted", take("PROMPT_ACCEPTED")),
      run === "active.prompting.sending" &&
        move("is refused", end(take("PROMPT_REFUSED", { error: fault, retryable: false }), name)),
      isActive && move("ends its turn", take("HOST_IDLE")),
      run === "active.working.busy" &&
        known.blockedBy.length > 0 &&
        move("ends its turn, though nobody says that its call has returned", take("HOST_IDLE")),
      isActive &&
        move(
          "asks a person",
          know(take("REQUEST_ASKED", { request: { id: "per_1", kind: "permission", what: "bash", since: 0 } }), name, {
            asksPerson: true,
          }),
        ),
      isActive &&
        move(
          "is refused for now",
          know(take("HOST_RETRYING", { attempt: 1, message: "slow down", until: atOf(world) + REFUSED_FOR }), name, {
            refusedUntil: world.now + REFUSED_FOR + GOES_AHEAD_MS,
          }),
        ),
      run === "active.working.retrying" && isAskedAgain && move("is asked again", take("HOST_BUSY")),
      isAskedAgain && move("is served again", know(take("HOST_ANSWERING"), name, { refusedUntil: 0 })),
      isActive &&
        ownLive.length > 0 &&
        move(
          `waits in a call for ${ownLive.join(" and ")}`,
          know(take("CALL_BLOCKED", { call: "call_1", taskIds: ownLive }), name, { blockedBy: ownLive }),
        ),
      known.blockedBy.length > 0 &&
        move("waits no longer", know(take("CALL_RETURNED", { call: "call_1" }), name, { blockedBy: [] })),
      known.asksPerson &&
        move("is answered by a person", know(take("REQUEST_ANSWERED", { id: "per_1" }), name, { asksPerson: false })),
      run === "active.working.awaitingTasks" &&
        move("goes on by itself", know(take("HOST_BUSY"), name, { awaitsOwn: false })),
      isChecked && move("is at work still", take("CHECKED_BUSY")),
      isChecked &&
        ownLive.length > 0 &&
        move("waits for its own", know(take("CHECKED_AWAITING_TASKS"), name, { awaitsOwn: true })),
      isChecked &&
        (ownLive.length === 0 || known.blockedBy.length > 0) &&
        move("is answered", end(take("CHECKED_ANSWERED", checked), name)),
      isChecked && move("has failed", end(take("CHECKED_FAILED", { ...checked, error: fault }), name)),
      run === "active.checking.asking.recovering" &&
        chart.context.interruptions < CONTINUED &&
        move("is continued", take("CHECKED_UNANSWERED")),
      isActive &&
        move(
          "is beyond its budget",
          know(take("LIMIT_EXCEEDED", { error: { ...fault, kind: "budget" } }), name, { refusedUntil: 0 }),
        ),
    ];
    return moves.filter((each) => each !== false);
  };

  /** Everything that can happen next. */
  const next = (world: World): Move[] => {
    const served = serve(world);
    const launches = Object.entries(kinds).flatMap(([name, kind]): Move[] => {
      const { parent } = kind;
      const lead = parent === undefined ? undefined : world.reference[parent];
      const mayLaunch = world.reference[name] === undefined && (parent === undefined || (lead && holds(lead)));
      return mayLaunch ? [{ name: `${name} is launched`, after: launch(world, name, kind) }] : [];
    });
    const ofTasks = Object.entries(world.charts).flatMap(([name, chart]): Move[] => {
      const known = world.reference[name];
      if (!known) return [];
      if (known.phase !== "ended") return movesOf(world, name, chart, known);
      // A task whose session is gone has nothing to go on with.
      if (chart.context.run.index > 0 || chart.context.error?.kind === "sessionGone") return [];
      return chart.value.lifecycle === "completed"
        ? [{ name: `${name} is resumed`, after: goOn(world, name, "RESUME") }]
        : [{ name: `${name} is retried`, after: goOn(world, name, "RETRY") }];
    });
    const refused = Object.values(world.reference).filter(({ refusedUntil }) => refusedUntil > world.now);
    /** The host asks one of them again, or the time for which that one goes ahead is over. */
    const pause = refused.some(({ refusedUntil }) => refusedUntil - world.now > GOES_AHEAD_MS)
      ? REFUSED_FOR
      : GOES_AHEAD_MS;
    const isLive = Object.values(world.reference).some(({ phase }) => phase !== "ended");
    return [
      ...(served ? [served] : []),
      ...launches,
      ...ofTasks,
      ...(refused.length > 0 ? [{ name: "time passes", after: { ...world, now: world.now + pause } }] : []),
      ...(isLive ? [{ name: "the process is replaced", after: crash(world) }] : []),
    ];
  };

  /** The world that a family begins with. */
  const first = (): World =>
    (family.begin ?? []).reduce(
      (world: World, name) => {
        const move = next(world).find((each) => each.name === name);
        if (!move) throw new Error(`"${name}" cannot happen: ${JSON.stringify(next(world).map((each) => each.name))}`);
        return move.after;
      },
      { now: 0, charts: {}, reference: {} },
    );

  return { next, first };
};

/** Worlds with the same key go on in the same ways. */
export const keyOf = ({ now, charts, reference }: World): string => {
  const waiting = Object.entries(reference)
    .filter(([, { phase }]) => phase === "queued")
    .toSorted(([, one], [, other]) => one.since - other.since)
    .map(([name]) => name);
  const tasks = Object.entries(charts)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, chart]) => {
      const { context, value } = chart;
      const known = reference[name];
      return [
        name,
        runOf(chart),
        JSON.stringify([value.attention, context.blockedCalls]),
        value.lifecycle,
        context.run.index,
        context.stopAttempts > 0 || context.limitError !== undefined,
        context.interruptions,
        known?.phase,
        known?.blockedBy.join(),
        known?.awaitsOwn,
        Math.max(0, (known?.refusedUntil ?? 0) - now),
        context.retry && Math.max(0, context.retry.until - START - now),
      ].join();
    });
  return `${tasks.join(";")}|${waiting.join()}`;
};
