import { hasEnded } from "../../src/task.ts";
import { launch } from "./agent-steps.ts";
import { busy, isOwed, isRunning, isThere, people, pick, preferred, tasks } from "./choosing.ts";
import { answerByApi, askByApi, fitsApi } from "./people.ts";
import { USER_SESSIONS } from "./shared-parts.ts";
import type { Simulation, StepActions } from "./simulation.ts";

/** Somebody deletes a session. */
const remove = (world: Simulation, sessionID: string) => {
  world.tracks.isDeleted(sessionID);
  world.agents.abort(sessionID);
  world.host.delete(sessionID);
};

/** What people do: in OpenCode, and by the status API. */
export const peopleSteps = {
  abort: (world, { session }) => {
    const sessionID = pick(busy(world).concat(people(world)), session);
    if (!sessionID) return;
    // A turn in the session of a task that has ended is that of a person who came back to it.
    const isPersons =
      USER_SESSIONS.includes(sessionID) || tasks(world).some((task) => task.sessionID === sessionID && hasEnded(task));
    if (isPersons) world.stopped.add(sessionID);
    if (!USER_SESSIONS.includes(sessionID)) world.tracks.mayEnd(sessionID);
    world.agents.abort(sessionID);
    if (world.host.at(sessionID).busy) world.host.abortByPerson(sessionID);
  },
  converse: (world, { parent }) => {
    const sessionID = pick(people(world), parent);
    if (sessionID && !world.host.at(sessionID).busy) world.host.converse(sessionID);
  },
  comeBack: async (world, { task }) => {
    const ended = tasks(world).filter(({ status }) => status === "error" || status === "cancelled");
    const sessionID = pick(
      ended.filter((one) => isThere(world, one.sessionID)),
      task,
    )?.sessionID;
    if (!sessionID || world.host.at(sessionID).busy) return;
    // A process that has died did not tell that the task ended.
    world.look();
    world.tracks.comesBack(sessionID);
    world.host.converse(sessionID);
    // What was launched before is told apart by its time.
    await world.clock.advance(1);
    if (isThere(world, sessionID)) await launch(world, sessionID);
  },
  deleteChild: (world, { task }) => {
    const there = tasks(world).filter(({ sessionID }) => isThere(world, sessionID));
    const sessionID = pick(preferred(there, isRunning), task)?.sessionID;
    if (sessionID) remove(world, sessionID);
  },
  deleteParent: (world, { parent }) => {
    const sessionID = pick(preferred(people(world), isOwed(world)), parent);
    if (sessionID) remove(world, sessionID);
  },
  takeBack: (world, { parent }) => {
    const sessionID = pick(people(world), parent);
    if (!sessionID || world.host.at(sessionID).busy) return;
    const asked = world.host.at(sessionID).messages.findLast(({ role }) => role === "user");
    if (asked) world.host.revert(sessionID, asked.id);
  },
  redo: (world, { parent }) => {
    const sessionID = pick(people(world), parent);
    if (sessionID) world.host.unrevert(sessionID);
  },
  archive: (world, { parent, isArchived }) => {
    const sessionID = pick(people(world), parent);
    if (sessionID) world.host.archive(sessionID, isArchived);
  },
  beginTurn: (world, { parent }) => {
    const sessionID = pick(people(world), parent);
    if (sessionID && !world.host.at(sessionID).busy) world.host.beginTurn(sessionID);
  },
  stopParent: (world, { parent }) => {
    const sessionID = pick(people(world), parent);
    if (!sessionID || !world.host.at(sessionID).busy) return;
    world.stopped.add(sessionID);
    world.agents.abort(sessionID);
    world.host.abortByPerson(sessionID);
  },
  copy: async (world, { parent, before }) => {
    const sessionID = pick(people(world), parent);
    if (!sessionID) return;
    const asked = world.host.at(sessionID).messages.filter(({ role }) => role === "user");
    const copied = await world.host.fork(sessionID, before === undefined ? "" : (pick(asked, before)?.id ?? ""));
    if (copied.ok) world.copies.add(copied.value.id);
  },
  reply: (world, { task }) => {
    const sessionID = pick(tasks(world), task)?.sessionID;
    const asked = sessionID && world.stage.store.get(sessionID)?.snapshot.context.userRequests[0];
    if (sessionID && asked) world.host.emit({ type: "replied", sessionID, requestID: asked.id });
  },
  askByApi: (world, { task, kind }) => askByApi(world, pick(preferred(tasks(world), fitsApi[kind]), task), kind),
  answerByApi: (world, { task, ...how }) => {
    const asking = tasks(world).filter(({ attention }) => attention?.requests !== undefined);
    const chosen = pick(asking, task);
    if (chosen) answerByApi(world, chosen, how);
  },
} satisfies Partial<StepActions>;
