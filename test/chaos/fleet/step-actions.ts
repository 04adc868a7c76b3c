import { hasEnded, type Task } from "../../../src/task.ts";
import { PARENT } from "../../fakes/stage.ts";
import { settled } from "../../fakes/virtual-clock.ts";
import { pick, preferred } from "../choosing.ts";
import {
  atWork,
  type FleetWorld,
  isReached,
  isUp,
  ownTasks,
  recordOf,
  runOf,
  type Server,
  type Work,
} from "./fleet-world.ts";
import { inHand } from "./phases.ts";
import type { FleetStep, Who } from "./steps.ts";

type Actions = {
  [Do in Exclude<FleetStep["do"], "time">]: (
    world: FleetWorld,
    step: Extract<FleetStep, { do: Do }>,
  ) => Promise<void> | void;
};

export const asks = ({ server: { stage }, taskId }: Work): boolean =>
  [...stage.host.openRequests.values()].includes(taskId);

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

export const restart = async (server: Server) => {
  const { stage } = server;
  if (!stage.life.isOver()) return;
  await stage.restart();
  server.startedAt = stage.clock.now();
};

/** Reports what a call to a server fails with, as long as that is not its death. */
const watch = async <T>(
  world: FleetWorld,
  { stage: { life } }: Server,
  call: () => Promise<T>,
): Promise<T | undefined> => {
  try {
    return await call();
  } catch (error) {
    if (!life.isOver()) world.fault(`a call failed: ${error}`);
    return undefined;
  }
};

/** The tasks that have been launched, on servers that run. */
const launched = ({ origins }: FleetWorld) =>
  origins.filter(isUp).flatMap((origin) => ownTasks(origin).map((task) => ({ origin, task })));

type Launched = ReturnType<typeof launched>[number];

/** The tasks for which each way to go on is meant. */
const GOES_ON = {
  resume: ({ status }: Task) => status === "completed",
  retry: ({ status }: Task) => status === "error" || status === "cancelled",
};

/** True for a task that has ended so, and whose parent knows of that. */
const mayGoOn =
  (way: keyof typeof GOES_ON) =>
  ({ origin, task }: Launched): boolean =>
    GOES_ON[way](task) && recordOf(origin, task.sessionID)?.snapshot.value.notice === "none";

/** Has an ended task go on, where the server is that has its conversation. */
const goOn = async (world: FleetWorld, way: keyof typeof GOES_ON, number: number): Promise<void> => {
  const ended = launched(world).filter(({ task }) => GOES_ON[way](task));
  const one = pick(preferred(ended, mayGoOn(way)), number);
  if (!one) return;
  const { origin, task } = one;
  const request = { parentSessionID: PARENT, taskId: task.sessionID, prompt: `Question ${world.next()}?` };
  const { signal } = new AbortController();
  const server = world.servers.find(({ id }) => id === task.server?.id);
  if (server && (!isUp(server) || world.drained.has(server))) world.situations?.onMeeting("resumedElsewhere");
  void watch(world, origin, () => origin.stage.engine[way]({ ...request, agent: undefined, signal })).then((begun) => {
    // No session is deleted here. One that was cancelled, or failed, before it began has none there.
    if (way === "resume" && begun?.ok === false && /not there any more/.test(begun.reason))
      world.fault(`the conversation of ${task.sessionID} of ${origin.id} is lost: ${begun.reason}`);
    const isThere = server && isReached(world, server) && isReached(world, origin) && !world.drained.has(server);
    if (way === "resume" && begun?.ok === false && isThere && mayGoOn(way)(one) && !world.hasTrouble)
      world.fault(`${task.sessionID} of ${origin.id} cannot be resumed, though ${server.id} is there: ${begun.reason}`);
  });
  await settled();
};

/** All servers: the one last that took a job last, and goes on. */
const byTaking = (world: FleetWorld): Server[] => {
  const tookAt = (server: Server) =>
    Math.max(0, ...inHand(world).flatMap((one) => (one.server === server ? (world.takingOf(one)?.at ?? 0) : [])));
  const job = (server: Server) => (isUp(server) ? tookAt(server) : -1);
  return world.servers.toSorted((one, other) => job(one) - job(other));
};

/** The servers to which a step happens. */
const chosen = (world: FleetWorld, { who, server: number }: { who: Who; server: number }): Server[] => {
  const { servers, origins } = world;
  const one = (among: Server[]) => {
    const server = pick(among, number);
    return server ? [server] : [];
  };
  switch (who) {
    case "any":
      return one([...servers]);
    case "workers":
      return servers.filter(({ work }) => work > 0);
    case "origin":
      return one(preferred([...origins], (origin) => ownTasks(origin).some((task) => !hasEnded(task) && task.fleet)));
    case "worker":
      return one(preferred(byTaking(world), (server) => inHand(world).some((run) => run.server === server)));
  }
};

/** Makes something happen to each of them. */
const each =
  <Step extends { who: Who; server: number }>(does: (server: Server, step: Step, world: FleetWorld) => void) =>
  (world: FleetWorld, step: Step) => {
    for (const server of chosen(world, step)) does(server, step, world);
  };

/** The action of each kind of step. */
const actions: Actions = {
  launch: async (world, { origin: number, agent }) => {
    const origin = pick([...world.origins], number);
    if (!origin || !isUp(origin)) return;
    const description = `job ${world.next()} of ${origin.id}`;
    const prompt = `Prompt ${world.next()}.`;
    void watch(world, origin, () => origin.stage.launch({ agent, description, prompt }));
    await settled();
  },
  finish: (world, { work }) => {
    const one = pick(free(world), work);
    if (one) finish(world, one);
  },
  fail: (world, { work }) => {
    const one = pick(free(world), work);
    one?.server.stage.host.fail(one.taskId, { name: "APIError", message: "the model's provider says no" });
  },
  callTool: (world, { work }) => {
    const one = pick(free(world), work);
    if (!one) return;
    const [sessionID, id] = [one.taskId, world.next()];
    const { host } = one.server.stage;
    host.emit({ type: "toolCall", sessionID, callID: `call_${id}`, tool: "bash", input: `${id}`, stage: "stored" });
    host.emit({ type: "step", sessionID, partID: `prt_${id}`, tokens: 100, cost: 0 });
  },
  ask: (world, { work }) => {
    const one = pick(free(world), work);
    if (!one) return;
    const request = { kind: "permission", what: "bash: make", since: world.clock.now(), always: ["make"] } as const;
    one.server.stage.host.emit({
      type: "asked",
      sessionID: one.taskId,
      request: { ...request, always: [...request.always], id: `per_${world.next()}` },
    });
  },
  answerAtOrigin: (world, { task }) => {
    const asking = launched(world).filter(({ task: { attention } }) => attention?.requests?.[0] !== undefined);
    const one = pick(asking, task);
    const requestId = one?.task.attention?.requests?.[0]?.id;
    if (!one || !requestId) return;
    const { origin, task: asked } = one;
    const run = runOf(origin, asked);
    const isForgetful = () => world.forgotAt > 0;
    void watch(world, origin, () => origin.stage.engine.answer(asked.sessionID, { requestId, reply: "once" })).then(
      (answered) => {
        const isSaid = world.broker
          .placesIn(run)
          .some(({ entry }) => entry.type === "replied" && entry.requestId === requestId);
        if (answered?.ok && asked.server && !isSaid && !isForgetful())
          world.fault(`the reply to ${requestId} was taken, and stands in no log of ${run}`);
      },
    );
  },
  answerThere: (world, { work }) => {
    const one = pick(atWork(world).filter(asks), work);
    if (one) answerThere(one);
  },
  cancel: (world, { task: number }) => {
    const one = pick(
      launched(world).filter(({ task: { completedAt } }) => completedAt === undefined),
      number,
    );
    if (!one) return;
    const { origin, task } = one;
    const run = runOf(origin, task);
    world.cancelTried.add(run);
    world.situations?.onRuns(world, "cancelled", (other) => other === run);
    void watch(world, origin, () => origin.stage.engine.cancel([task.sessionID]));
    // A process that dies just then has not taken it.
    if (/stopping/.test(origin.stage.engine.get(task.sessionID)?.state ?? "")) world.cancelled.add(run);
  },
  resume: (world, { task }) => goOn(world, "resume", task),
  retry: (world, { task }) => goOn(world, "retry", task),
  limit: (world, { model, most }) => {
    // A limit that never was is not lifted.
    if (most === null && !(model in world.limits)) return;
    if (most === null && world.broker.queue().some(({ job }) => job.key === model))
      world.situations?.onMeeting("lifted");
    const underIt = atWork(world).filter((work) => world.takingOf(work)?.key === model).length;
    if (most !== null && underIt > most) world.situations?.onMeeting("tooMany");
    world.limits = { ...world.limits, [model]: most };
    world.limitedAt.set(model, world.clock.now());
    world.broker.limit(world.limits);
  },
  drain: (world, step) => {
    for (const server of chosen(world, step)) world.drained.set(server, world.drained.get(server) ?? world.clock.now());
    world.broker.drain([...world.drained.keys()].map(({ id }) => id));
  },
  undrain: (world) => {
    world.drained.clear();
    world.broker.drain([]);
  },
  die: each(({ stage }) => stage.life.die()),
  dieAfter: each(({ stage }, { calls }: { who: Who; server: number; calls: number }) => stage.life.dieAfter(calls)),
  restart: async ({ servers }, { server }) => {
    const one = pick(
      servers.filter(({ stage }) => stage.life.isOver()),
      server,
    );
    if (one) await restart(one);
  },
  pause: each(({ stage }) => stage.life.pause()),
  wake: ({ servers }) => {
    for (const { stage } of servers) if (!stage.life.isOver()) stage.life.wake();
  },
  unplug: each(({ line }) => line.cut()),
  plug: ({ servers }) => {
    for (const { line } of servers) if (line.isCut()) line.mend();
  },
  strike: each(({ line }, { call, is, times }: Extract<FleetStep, { do: "strike" }>) => line.strike(call, is, times)),
  deafen: each(({ line }, { ms }: Extract<FleetStep, { do: "deafen" }>, world) => {
    world.hasBeenDeaf = true;
    line.deafen(ms);
  }),
  beginSlowly: (world, { ms }) => {
    world.beginTakes = ms;
    world.beginTook = Math.max(world.beginTook, ms);
  },
  cutOff: ({ broker }) => broker.cutOff(),
  bringBack: ({ broker }) => {
    if (broker.isAway()) broker.bringBack();
  },
  wipe: ({ broker }) => broker.wipe(),
  copy: ({ broker }) => void broker.copy(),
  setBack: (world) => world.setBack(),
  loseJobs: ({ broker }) => broker.loseJobs(),
};

/** Steps in which nothing fails but agents. */
const UNTROUBLED: ReadonlySet<FleetStep["do"]> = new Set<FleetStep["do"]>([
  ...([
    "launch",
    "finish",
    "fail",
    "callTool",
    "ask",
    "answerAtOrigin",
    "answerThere",
    "cancel",
    "resume",
    "retry",
  ] as const),
  ...(["limit", "undrain", "restart", "wake", "plug", "bringBack", "copy", "deafen", "beginSlowly", "time"] as const),
]);

/** Plays a step that is no passing of time. */
export const act = (world: FleetWorld, step: Exclude<FleetStep, { do: "time" }>): Promise<void> | void => {
  if (!UNTROUBLED.has(step.do)) world.troubles.add(step.do === "strike" ? step.call : step.do);
  return (actions[step.do] as (world: FleetWorld, step: FleetStep) => Promise<void> | void)(world, step);
};
