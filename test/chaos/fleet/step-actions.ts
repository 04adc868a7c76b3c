import { PARENT } from "../../fakes/stage.ts";
import { settled } from "../../fakes/virtual-clock.ts";
import { atWork, type FleetWorld, isUp, ownTasks, runOf, type Server, type Work } from "./fleet-world.ts";
import type { FleetStep } from "./steps.ts";

type Actions = {
  [Do in Exclude<FleetStep["do"], "time">]: (
    world: FleetWorld,
    step: Extract<FleetStep, { do: Do }>,
  ) => Promise<void> | void;
};

const pick = <T>(among: readonly T[], number: number): T | undefined => among[number % Math.max(1, among.length)];

const asks = ({ server: { stage }, taskId }: Work): boolean => [...stage.host.openRequests.values()].includes(taskId);

/** An agent that asks waits for the answer. */
const free = (world: FleetWorld): Work[] => atWork(world).filter((work) => !asks(work));

/** An agent gives its answer, a different one each time. */
export const finish = (world: FleetWorld, { server, taskId, run }: Work) => {
  const text = `answer ${world.next()}`;
  world.answers.set(run, [...(world.answers.get(run) ?? []), text]);
  server.stage.host.finish(taskId, text);
};

/** Somebody answers what the agent of a task asks, in front of the server on which it works. */
export const answerThere = ({ server: { stage }, taskId: sessionID }: Work) => {
  for (const [requestID, asking] of [...stage.host.openRequests]) {
    if (asking === sessionID) stage.host.emit({ type: "replied", sessionID, requestID });
  }
};

export const restart = async ({ stage }: Server) => {
  if (stage.life.isOver()) await stage.restart();
};

/** Reports what a call to a server fails with, as long as that is not its death. */
const watch = async (world: FleetWorld, { stage: { life } }: Server, call: () => Promise<unknown>) => {
  try {
    await call();
  } catch (error) {
    if (!life.isOver()) world.fault(`a call failed: ${error}`);
  }
};

/** The tasks that have been launched, on servers that run. */
const launched = ({ homes }: FleetWorld) =>
  homes.filter(isUp).flatMap((home) => ownTasks(home).map((task) => ({ home, task })));

/** The action of each kind of step. */
const actions: Actions = {
  launch: async (world, { home: number, agent }) => {
    const home = pick(world.homes, number);
    if (!home || !isUp(home)) return;
    const description = `job ${world.next()} of ${home.id}`;
    void watch(world, home, () => home.stage.launch({ agent, description }));
    await settled();
  },
  finish: (world, { work }) => {
    const chosen = pick(free(world), work);
    if (chosen) finish(world, chosen);
  },
  fail: (world, { work }) => {
    const chosen = pick(free(world), work);
    chosen?.server.stage.host.fail(chosen.taskId, { name: "APIError", message: "the model's provider says no" });
  },
  ask: (world, { work }) => {
    const chosen = pick(free(world), work);
    if (!chosen) return;
    const request = { kind: "permission", what: "bash: make", since: world.clock.now(), always: ["make"] } as const;
    chosen.server.stage.host.emit({
      type: "asked",
      sessionID: chosen.taskId,
      request: { ...request, always: [...request.always], id: `per_${world.next()}` },
    });
  },
  answerAtHome: (world, { task }) => {
    const asking = launched(world).filter(({ task: { attention } }) => attention?.requests?.[0] !== undefined);
    const chosen = pick(asking, task);
    const requestId = chosen?.task.attention?.requests?.[0]?.id;
    if (!chosen || !requestId) return;
    const { home, task: asked } = chosen;
    void watch(world, home, () => home.stage.engine.answer(asked.sessionID, { requestId, reply: "once" }));
  },
  answerThere: (world, { work }) => {
    const chosen = pick(atWork(world).filter(asks), work);
    if (chosen) answerThere(chosen);
  },
  cancel: (world, { task: number }) => {
    const chosen = pick(
      launched(world).filter(({ task: { completedAt } }) => completedAt === undefined),
      number,
    );
    if (!chosen) return;
    const { home, task } = chosen;
    void watch(world, home, () => home.stage.engine.cancel([task.sessionID]));
    // A process that dies just then has not taken it.
    if (/recalling|closing|stopping/.test(home.stage.engine.get(task.sessionID)?.state ?? ""))
      world.cancelled.add(runOf(home, task));
  },
  resume: async (world, { task: number }) => {
    const chosen = pick(
      launched(world).filter(({ task: { status } }) => status === "completed"),
      number,
    );
    if (!chosen) return;
    const { home, task } = chosen;
    const request = { parentSessionID: PARENT, taskId: task.sessionID, prompt: `Question ${world.next()}?` };
    const { signal } = new AbortController();
    void watch(world, home, () => home.stage.engine.resume({ ...request, agent: undefined, signal }));
    await settled();
  },
  limit: (world, { model, most }) => {
    // A limit that never was is not lifted.
    if (most === null && !(model in world.limits)) return;
    world.limits = { ...world.limits, [model]: most };
    world.engine.limit(world.limits);
  },
  die: ({ servers }, { server }) => pick(servers, server)?.stage.life.die(),
  dieAfter: ({ servers }, { server, calls }) => pick(servers, server)?.stage.life.dieAfter(calls),
  restart: async ({ servers }, { server }) => {
    const chosen = pick(
      servers.filter(({ stage }) => stage.life.isOver()),
      server,
    );
    if (chosen) await restart(chosen);
  },
  pause: ({ servers }, { server }) => pick(servers.filter(isUp), server)?.stage.life.pause(),
  wake: ({ servers }, { server }) => {
    const asleep = servers.filter(({ stage: { life } }) => life.isPaused() && !life.isOver());
    pick(asleep, server)?.stage.life.wake();
  },
  unplug: ({ servers }, { server }) => pick(servers, server)?.line.cut(),
  plug: ({ servers }, { server }) => {
    const cut = servers.filter(({ line }) => line.isCut());
    pick(cut, server)?.line.mend();
  },
  cutOff: ({ engine }) => engine.cutOff(),
  bringBack: ({ engine }) => {
    if (engine.isAway()) engine.bringBack();
  },
  wipe: ({ engine }) => engine.wipe(),
  loseOrders: ({ engine }) => engine.loseOrders(),
  loseAnswers: ({ engine }, { call, times }) => engine.loseAnswer(call, times),
};

/** Has a step happen, but for time that passes. */
export const act = (world: FleetWorld, step: Exclude<FleetStep, { do: "time" }>): Promise<void> | void =>
  (actions[step.do] as (world: FleetWorld, step: FleetStep) => Promise<void> | void)(world, step);
