import type { Simulation } from "./simulation.ts";

/** The ids of the tasks that are listed one by one: of older batches only the heading is. */
const listedIn = (answer: string): string[] => [...answer.matchAll(/^- (\S+)/gm)].map(([, id = ""]) => id);

/** The agent of a session lists its tasks: those that it has, and no others. */
export const checkList = ({ agents, stage, fault }: Simulation, sessionID: string): void => {
  const ids = () => stage.store.list({ parentSessionID: sessionID }).map((task) => task.sessionID);
  const before = ids();
  void agents.call(sessionID, { do: "list" }).then((answer) => {
    if (answer === undefined) return;
    const now = ids();
    const listed = listedIn(answer);
    const isShortened = answer.includes("Older batches show no tasks");
    for (const id of before) {
      if (now.includes(id) && !listed.includes(id) && !isShortened) fault(`the list of ${sessionID} lacks ${id}`);
    }
    for (const id of listed) {
      if (!before.includes(id) && !now.includes(id)) fault(`${sessionID} is listed ${id}, which is not its task`);
    }
  });
};
