import type { HostError } from "../../src/machines/task/events.ts";
import { LONG_WAIT_MS } from "../../src/services/engine/limits/provider-waits.ts";
import { STEPS_WITHOUT_END } from "../../src/services/runtime/run-outcome.ts";
import { ask, callTools, circle, dawdle, overspend, runTool, spend } from "./budgets.ts";
import { acting, atWork, busy, people, pick, preferred, sessions, tasks } from "./choosing.ts";
import { finishRun } from "./settle-down.ts";
import { USER_SESSIONS } from "./shared-parts.ts";
import type { Simulation, StepActions } from "./simulation.ts";

/** A turn fails, and the tool calls in it are aborted. */
const failTurn = ({ agents, host }: Simulation, sessionID: string | undefined, error: HostError) => {
  if (!sessionID) return;
  agents.abort(sessionID);
  host.fail(sessionID, error);
};

const UNAUTHORIZED: HostError = { name: "APIError", message: "401" };
const OVERLOADED: HostError = { name: "APIError", message: "overloaded" };
const NO_CREDIT: HostError = { name: "APIError", message: "no credit", refusal: "quota" };
const LOCKED: HostError = { name: "UnknownError", message: "Failed to execute statement", fault: "host" };

/** What the host and its models do. */
export const hostSteps = {
  answer: (world, { session, idles, unwritten, unseen }) => {
    const sessionID = pick(busy(world), session);
    if (sessionID) finishRun(world, sessionID, { idles, unwritten, unseen });
  },
  fail: (world, { session }) => failTurn(world, pick(busy(world), session), UNAUTHORIZED),
  hostFault: (world, { session }) => failTurn(world, pick(busy(world), session), LOCKED),
  stepsWithoutEnd: (world, { session }) => {
    const sessionID = pick(busy(world), session);
    if (sessionID) world.tracks.mayEndTurn(sessionID);
    for (let step = 0; sessionID && step < STEPS_WITHOUT_END; step += 1) {
      world.host.step(sessionID, { finish: "unknown", text: "And then" });
    }
  },
  answerParent: (world, { parent }) => {
    const sessionID = pick(people(world), parent);
    if (sessionID && world.host.at(sessionID).busy) finishRun(world, sessionID);
  },
  parentFails: (world, { parent }) => failTurn(world, pick(people(world), parent), OVERLOADED),
  showParent: (world, { parent }) => {
    const sessionID = pick(people(world), parent);
    if (sessionID) world.host.emitSession(sessionID);
  },
  goOnAfterError: (world, { session, idle }) => {
    const sessionID = pick(busy(world), session);
    if (sessionID) world.host.goOnAfterError(sessionID, OVERLOADED, { idle });
  },
  compact: (world, { session, ms, overflow }) => {
    // A session that was aborted is left as it is: as soon as it is busy, the engine takes the abort for a person's.
    const wasAborted = (id: string) => world.host.at(id).messages.at(-1)?.error !== undefined;
    // Nor does the host of one process sum up what the other one works on, nor what was left of a launch: nobody works on that.
    const isSupervised = (id: string) => !world.ownership || world.ownership.supervisorOf(id) === world.owner();
    const isUsedHere = (id: string) =>
      world.tracks.of(id) ? isSupervised(id) : USER_SESSIONS.includes(id) || world.copies.has(id);
    const sessionID = pick(
      sessions(world).filter((id) => !wasAborted(id) && isUsedHere(id)),
      session,
    );
    if (sessionID) world.host.compact(sessionID, { ms, overflow });
  },
  breakOff: (world, { session }) => {
    const sessionID = pick(busy(world), session);
    if (sessionID) world.host.breakOff(sessionID);
  },
  refuseModel: (world, { session }) => {
    const sessionID = pick(busy(world), session);
    if (!sessionID) return;
    world.tracks.mayLeaveModel(sessionID);
    failTurn(world, sessionID, NO_CREDIT);
  },
  refuseForNow: (world, { session, ms }) => {
    const sessionID = pick(busy(world), session);
    if (!sessionID) return;
    world.tracks.mayLeaveModel(sessionID);
    if (ms > LONG_WAIT_MS) world.tracks.mayPause(sessionID);
    world.host.refuseForNow(sessionID, ms);
  },
  ask: (world, { task, kind, lasts }) => {
    const ids = acting(world);
    const asking = tasks(world).filter(({ sessionID }) => ids.includes(sessionID));
    const sessionID = pick(asking, task)?.sessionID;
    if (!sessionID) return;
    ask(world, sessionID, kind);
    return world.clock.advance(lasts);
  },
  callTools: (world, { task, times, same }) => {
    // Only an agent at work calls tools: not one whose run is in the queue.
    const sessionID = pick(atWork(world), task)?.sessionID;
    if (sessionID) callTools(world, sessionID, times, same);
  },
  runTool: (world, { task, ms }) => {
    const sessionID = pick(atWork(world), task)?.sessionID;
    if (sessionID) runTool(world, sessionID, ms);
  },
  spend: (world, { task, tokens, cost }) => {
    const sessionID = pick(atWork(world), task)?.sessionID;
    if (sessionID) spend(world, sessionID, tokens, cost);
  },
  overspend: async (world, { task }) => {
    const chosen = pick(
      preferred(atWork(world), ({ parentTaskId }) => parentTaskId !== undefined),
      task,
    );
    if (chosen) await overspend(world, chosen);
  },
  circle: async (world, { task }) => {
    const chosen = pick(atWork(world), task);
    if (chosen) await circle(world, chosen);
  },
  dawdle: async (world, { task, begins }) => {
    const chosen = pick(atWork(world), task);
    if (chosen) await dawdle(world, chosen, begins);
  },
  hint: (world, { session, says }) => {
    const sessionID = pick(sessions(world), session);
    if (!sessionID) return;
    if (says !== "error") world.host.emit({ type: says, sessionID });
    else world.host.emit({ type: "error", sessionID, error: OVERLOADED });
  },
  behave: (world, { session, habit }) => {
    const sessionID = pick(sessions(world), session);
    if (sessionID) world.host.habits(sessionID, habit);
  },
  behaveChildren: ({ host }, { habit }) => host.childHabits(habit),
} satisfies Partial<StepActions>;
