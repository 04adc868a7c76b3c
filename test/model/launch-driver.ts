import type { LaunchEvent } from "../../src/machines/launch/events.ts";
import type { LaunchSnapshot } from "../../src/machines/launch/machine.ts";
import { LAUNCH_LIMITS } from "../../src/machines/launch/setup.ts";
import { launchOfActor } from "../../src/machines/supervisor/machine.ts";
import type { Host } from "../../src/services/host/host.ts";
import type { InspectionEvent } from "../../src/services/runtime/actor-system.ts";
import { createDisk } from "../fakes/disk.ts";
import { createFakeHost, refused, unavailable } from "../fakes/fake-host.ts";
import { createStage, PARENT, type Stage } from "../fakes/stage.ts";
import { START } from "../fakes/task-input.ts";
import { createVirtualClock, settled } from "../fakes/virtual-clock.ts";
import { type Watched, watched } from "../fakes/watched.ts";
import { createGates } from "./gates.ts";
import { type LaunchPath, stateOf } from "./launch-paths.ts";
import { createScriptedFleet } from "./scripted-fleet.ts";
import { activeStates, nameOfTransition } from "./transitions.ts";

/** Brings about in the engine what a launch's event stands for, and watches its actor. */
export interface LaunchDriver {
  stage: Stage;
  drive(event: LaunchEvent, before: LaunchSnapshot): Promise<void>;
  /** The launch as it stands. */
  standing(): LaunchSnapshot;
  /** The transitions that launches took, by their names. */
  taken: ReadonlySet<string>;
  /** The states that they were in. */
  visited: ReadonlySet<string>;
  launched: Watched<string>;
  /** Lets everything go on by itself, for a while, and in the next process where this one has stopped. */
  finish(): Promise<void>;
  /** The worktrees that are there. */
  worktrees: ReadonlySet<string>;
  /** The launches that are stored. */
  onRecord(): unknown[];
  end(): void;
}

const GATED = ["createSession", "fork", "storeMessage", "sessionsSince", "conversation", "deleteSession"] as const;
const failed = { ok: false, failure: unavailable } as const;
const no = { ok: false, failure: refused } as const;
const fault = () => Promise.reject(new Error("a fault of ours"));

/** Longer than it takes until a process takes over what another one left behind, and than the longest pause. */
const A_WHILE = 130_000;

export const createLaunchDriver = async ({ input, steps }: LaunchPath): Promise<LaunchDriver> => {
  const disk = createDisk();
  const clock = createVirtualClock();
  const fake = createFakeHost(clock);
  const gates = createGates();
  const taken = new Set<string>();
  const visited = new Set<string>();
  const made = new Set<string>();
  const turn = new AbortController();
  let newest: LaunchSnapshot | undefined;
  let isFree = false;
  /** A session is created, though the host does not say so. */
  let isSilent = false;

  /** What stands at a gate is done as the test says: as always where it says nothing. */
  const gated = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const instead = isFree ? undefined : await gates.wait<(() => Promise<T>) | undefined>(name);
    return instead ? instead() : work();
  };
  const scripts = Object.fromEntries(
    GATED.map((name) => [
      name,
      (...args: unknown[]) => {
        const work = async () => {
          const done = await (fake[name] as (...given: unknown[]) => Promise<unknown>)(...args);
          const isUnconfirmed = isSilent && (name === "createSession" || name === "fork");
          if (isUnconfirmed) isSilent = false;
          return isUnconfirmed ? failed : done;
        };
        const isOfParent = name === "storeMessage" && (args[0] as { sessionID: string }).sessionID === PARENT;
        return isOfParent ? work() : gated(name, work);
      },
    ]),
  ) as Partial<Host>;
  // The first call for a copy stands for all.
  let marks = 0;
  const host = Object.assign(Object.create(fake) as typeof fake, scripts, {
    updateSession: (...args: Parameters<Host["updateSession"]>) => {
      marks += 1;
      return marks % 2 === 1 ? gated("updateSession", () => fake.updateSession(...args)) : fake.updateSession(...args);
    },
  });

  const lastStep = steps.at(-1);
  if (!lastStep) throw new Error("a path has steps");
  const states = steps.map(({ before, event }) => `${stateOf(before)} ${event.type}`);
  const isServed = !states.includes("starting NOT_SERVED");
  const throwsAtStart = states.includes("starting FAULT");
  const fleet = createScriptedFleet(clock, gates, { pool: "p", commit: "c", attempts: 1, patience: 0 });
  const membership = () => ({
    ...fleet.membership(),
    commits: {
      published: () => gated("fleet", async () => ({ ok: true, value: "c" }) as const),
      obstacle: async () => undefined,
    },
  });

  /** Launches are children of the supervisor: the id of the root is another. */
  const watch = (told: InspectionEvent) => {
    const { id } = told.actorRef as unknown as { id: string };
    const launchId = launchOfActor(id ?? "");
    if (launchId === undefined) return;
    if (told.type === "@xstate.microstep") {
      for (const definition of told._transitions) taken.add(nameOfTransition(definition));
      for (const state of activeStates(told.snapshot as unknown as LaunchSnapshot)) visited.add(state);
    }
    if (told.type === "@xstate.snapshot" && !launchId.endsWith("/left")) {
      newest = told.snapshot as unknown as LaunchSnapshot;
    }
  };
  const stage = createStage({
    ...{ clock, host, openStore: disk.boot, inspect: watch, isServed: () => isServed },
    ...(input.asksFleet ? { fleet: membership } : {}),
    worktrees: {
      make: () =>
        gated("makeWorktree", async () => {
          const id = `w${made.size + 1}`;
          made.add(id);
          return { ok: true, value: { id, directory: `/worktrees/${id}`, isShared: false } } as const;
        }),
      remove: (id) => gated("removeWorktree", async () => void made.delete(id)),
      assign: () => {
        if (throwsAtStart) throw new Error("a fault of ours");
      },
      expect: () => undefined,
      sweep: () => [],
    },
  });
  fake.converse(PARENT);
  const endStep = fake.beginStep(PARENT, "msg_turn");
  await clock.advance(1);
  const args = { fork: input.isFork === true, ...(input.needsWorktree ? { worktree: true } : {}) };
  const launched = watched(stage.launch(args, { abort: turn.signal }));
  await settled();

  const open = (name: string, instead?: () => Promise<unknown>) => gates.open(name, instead);
  const creation = () => (newest?.context.source === "copy" ? "fork" : "createSession");
  /** Sessions that are known are deleted at once; others are looked for first. */
  const removal = ({ sessions, sessionID }: LaunchSnapshot["context"]) =>
    sessions || sessionID !== undefined ? "deleteSession" : "sessionsSince";

  const remove = async (before: LaunchSnapshot) => {
    if (removal(before.context) === "sessionsSince") {
      open("sessionsSince");
      await settled();
    }
    if (gates.waiting("deleteSession") > 0) open("deleteSession");
  };

  /** Where the launch was cancelled, another state's call is under way. */
  const faultAt = () =>
    ["makeWorktree", "sessionsSince", "conversation", "removeWorktree"].find((name) => gates.waiting(name) > 0) ?? "";

  const acts: {
    [Type in LaunchEvent["type"]]: (event: Extract<LaunchEvent, { type: Type }>, before: LaunchSnapshot) => unknown;
  } = {
    WORKTREE_MADE: () => open("makeWorktree"),
    WORKTREE_REFUSED: ({ reason }) => open("makeWorktree", async () => ({ ok: false, reason })),
    FLEET_ANSWERED: ({ offer }) => open("fleet", offer ? undefined : async () => ({ ok: false, reason: "no" })),
    // There are few launches.
    TURN_TAKEN: () => undefined,
    SESSION_CREATED: () => open(creation()),
    CREATION_REFUSED: () => open(creation(), async () => no),
    CREATION_UNCONFIRMED: () => {
      isSilent = true;
      open(creation());
    },
    SESSION_FOUND: () => open("sessionsSince"),
    SESSION_NOT_FOUND: () => open("sessionsSince", async () => failed),
    COPY_CUT: () => open("updateSession"),
    PREAMBLE_STORED: () => open("storeMessage"),
    PREAMBLE_NOT_STORED: () => open("storeMessage", async () => failed),
    PREPARATION_FAILED: (_, before) => {
      const isCutting = gates.waiting("updateSession") > 0;
      if (isCutting) marks -= 1;
      return open(isCutting ? "updateSession" : "storeMessage", async () => no) ?? before;
    },
    CONVERSATION_READ: () => open("conversation"),
    CONVERSATION_NOT_READ: () => open("conversation", async () => no),
    // Both follow at once.
    TASK_STARTED: () => undefined,
    NOT_SERVED: () => undefined,
    SESSIONS_REMOVED: (_, before) => remove(before),
    SESSIONS_LEFT: async ({ at }, before) => {
      if (at > START + LAUNCH_LIMITS.searchFor) await clock.advance(LAUNCH_LIMITS.searchFor + 1_000);
      open(removal(before.context), async () => failed);
    },
    WORKTREE_REMOVED: () => open("removeWorktree"),
    FAULT: (_, before) => (stateOf(before) === "starting" ? undefined : open(faultAt(), fault)),
    CANCEL: () => turn.abort(),
    CLOSE: () => stage.engine.stop(),
    TICK: () => clock.advance((newest?.context.nextDeadline ?? 0) - clock.now()),
  };
  return {
    stage,
    drive: async (event, before) => {
      await (acts[event.type] as (given: LaunchEvent, in_: LaunchSnapshot) => unknown)(event, before);
      await settled();
      await settled();
    },
    standing: () => {
      if (!newest) throw new Error("no launch has begun");
      return newest;
    },
    ...{ taken, visited, launched },
    finish: async () => {
      isFree = true;
      for (const name of [...GATED, "updateSession", "makeWorktree", "removeWorktree", "fleet"]) {
        while (gates.waiting(name) > 0) open(name);
      }
      await settled();
      await clock.advance(A_WHILE);
      if (stateOf(lastStep.after) === "closed" || stateOf(lastStep.after) === "leftToNext") {
        await stage.restart();
        await clock.advance(A_WHILE);
      }
      endStep();
    },
    worktrees: made,
    onRecord: () => disk.boot(clock).adopt(clock.now() + 60_000, () => true).launches,
    end: () => {
      stage.engine.stop();
      disk.remove();
    },
  };
};

/** What must be the same in the chart that is walked and in the engine: all but ids, times and texts. */
export const comparable = (snapshot: LaunchSnapshot) => {
  const { source, pending, sessionID, sessions, worktree, offer, notOffered, forkRefusal, refusal, tries } =
    snapshot.context;
  return {
    state: stateOf(snapshot),
    source,
    isPending: pending !== undefined,
    isFork: pending?.fork,
    hasSession: sessionID !== undefined,
    sessions: sessions?.length,
    hasWorktree: worktree !== undefined,
    isOffered: offer !== undefined,
    notOffered: notOffered !== undefined,
    wasCopied: forkRefusal === undefined,
    refusal: refusal?.why,
    tries,
  };
};
