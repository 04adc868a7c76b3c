import { unpackPatch } from "../../../src/services/fleet/wire-messages.ts";
import type { TaskRecord } from "../../../src/services/store/store.ts";
import { hasEnded } from "../../../src/task.ts";
import { brokenPromises } from "../../fakes/broken-promises.ts";
import { PARENT } from "../../fakes/stage.ts";
import { type FleetWorld, ownTasks, runOf, type Server, whyNotQuiet } from "./fleet-world.ts";
import { readPlaces } from "./log-reading.ts";
import { deliveries, endsOf } from "./watches.ts";

/** The tasks that are being cancelled, and have not ended, with their states. */
export const beingCancelled = ({ origins, cancelled }: FleetWorld): string[] =>
  origins.flatMap((origin) =>
    ownTasks(origin).flatMap((task) => {
      const { sessionID } = task;
      if (hasEnded(task) || !cancelled.has(runOf(origin, task))) return [];
      return [`${sessionID} of ${origin.id} is ${origin.stage.engine.get(sessionID)?.state}`];
    }),
  );

/** Checks every journal of every server: those of tasks launched there, and of those that it works on for others. */
const checkJournals = ({ servers, fault }: FleetWorld) => {
  for (const { id, stage, memory } of servers) {
    for (const { sessionID } of stage.store.list({})) {
      const journal = memory.journal(sessionID);
      for (const words of journal ? brokenPromises(journal) : []) fault(`${id}: ${words}`);
    }
  }
};

/**
 * Checks that each task has ended as its agent said, that its parent was told once, that journals keep what is promised, and
 * that nothing is left.
 */
export const checkEnd = (world: FleetWorld) => {
  const { origins, answers, fault } = world;
  for (const origin of origins) {
    const delivered = deliveries(origin);
    for (const task of ownTasks(origin)) {
      const { sessionID, status, result, error, description } = task;
      const name = `${sessionID} of ${origin.id}`;
      if (!hasEnded(task)) fault(`${name} has not ended: it is ${origin.stage.engine.get(sessionID)?.state}`);
      // No session is deleted, and no server lacks what a job asks for.
      if (error?.name === "NotBegun") fault(`${name} could not be begun: ${error.message}`);
      const isSaid = answers.get(runOf(origin, task))?.includes(result ?? "");
      if (status === "completed" && !isSaid) fault(`the result of ${name} is none of what its agents said: ${result}`);
      const [times = 0, ends] = [delivered.get(description), endsOf(origin, sessionID)];
      if (times !== ends) fault(`of ${name}, which has ended ${ends} times, ${times} ends were delivered`);
    }
  }
  checkJournals(world);
  const left = whyNotQuiet(world);
  if (left !== undefined) fault(`not all is quiet: ${left}`);
  for (const { id, stage } of world.servers) {
    // Sessions below which the tasks of other servers are have no agent.
    const told = stage.host
      .sessionIDs()
      .find(
        (session) => /^Tasks of another/.test(stage.host.at(session).title ?? "") && stage.notices(session).length > 0,
      );
    if (told !== undefined) fault(`${id} gives a notice to ${told}, where nobody waits for one`);
  }
  for (const origin of origins) for (const record of origin.records.all()) checkOutcome(world, origin, record);
};

/** Errors that say that something else failed than the agent. */
const OF_TROUBLE: ReadonlySet<string> = new Set([
  ...["ServerLost", "NotWithdrawn", "ServerAway", "Interrupted", "JobRefused", "InterruptedAgain"],
]);

/** Checks that the end of a task's newest run is the one that its server has said, and that it fits what happened. */
const checkOutcome = (world: FleetWorld, origin: Server, { task, snapshot }: TaskRecord) => {
  const { broker, fault, received } = world;
  const { sessionID, status, result, error } = task;
  if (!task.fleet || task.parentSessionID !== PARENT) return;
  const [run, name] = [runOf(origin, task), `${sessionID} of ${origin.id}`];
  if (status === "cancelled" && !world.cancelTried.has(run)) fault(`${name} is cancelled, though nobody wants that`);
  const isOfAgent = error === undefined || error.name === "APIError";
  if (!isOfAgent && !(OF_TROUBLE.has(error.name) && world.hasTrouble))
    fault(`${name} fails: ${error.name}, ${error.message}`);
  const { ended } = readPlaces(broker.placesIn(run));
  // An origin that could not close a run has given it up.
  if (!ended?.claim || world.forgotAt > 0 || error?.name === "NotWithdrawn") return;
  if (ended.outcome !== status || (ended.result ?? "") !== (result ?? "") || ended.error?.name !== error?.name)
    fault(
      `${name} is ${status} with ${result ?? error?.name}; its server says ${ended.outcome} with ${ended.result ?? ended.error?.name}`,
    );
  if (ended.steps && ended.steps.toolCalls !== task.progress.toolCalls)
    fault(`${name} has called ${task.progress.toolCalls} tools; its server says ${ended.steps.toolCalls}`);
  const { worktree } = snapshot.context.remote ?? {};
  if (task.agent === "explore" && ended.patch === undefined && ended.outcome === "completed")
    fault(`${name} has changed something, which its server does not say`);
  const changed = ended.patch && Buffer.from(unpackPatch(ended.patch)).toString();
  if (changed !== undefined && received.get(worktree?.id ?? "") !== changed)
    fault(`${name} lacks what its server says: ${changed}`);
};
