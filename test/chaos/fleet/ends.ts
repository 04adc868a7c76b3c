import { hasEnded } from "../../../src/task.ts";
import { brokenPromises } from "../../fakes/broken-promises.ts";
import { type FleetWorld, ownTasks, runOf, whyNotQuiet } from "./fleet-world.ts";
import { deliveries, endsOf } from "./watches.ts";

/** The tasks that are being cancelled, and have not ended, with their states. */
export const beingCancelled = ({ homes, cancelled }: FleetWorld): string[] =>
  homes.flatMap((home) =>
    ownTasks(home).flatMap((task) => {
      const { sessionID } = task;
      if (hasEnded(task) || !cancelled.has(runOf(home, task))) return [];
      return [`${sessionID} of ${home.id} is ${home.stage.engine.get(sessionID)?.state}`];
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
  const { homes, answers, fault } = world;
  for (const home of homes) {
    const delivered = deliveries(home);
    for (const task of ownTasks(home)) {
      const { sessionID, status, result, error, description } = task;
      const name = `${sessionID} of ${home.id}`;
      if (!hasEnded(task)) fault(`${name} has not ended: it is ${home.stage.engine.get(sessionID)?.state}`);
      // No session is deleted, and no server lacks what an order asks for.
      if (error?.name === "NotBegun") fault(`${name} could not be begun: ${error.message}`);
      const isSaid = answers.get(runOf(home, task))?.includes(result ?? "");
      if (status === "completed" && !isSaid) fault(`the result of ${name} is none of what its agents said: ${result}`);
      const [times = 0, ends] = [delivered.get(description), endsOf(home, sessionID)];
      if (times !== ends) fault(`of ${name}, which has ended ${ends} times, ${times} ends were delivered`);
    }
  }
  checkJournals(world);
  const left = whyNotQuiet(world);
  if (left !== undefined) fault(`not all is quiet: ${left}`);
};
