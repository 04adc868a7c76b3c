import type { Notice } from "../demo/notice.ts";
import { nextBeat, unless } from "../demo/play.ts";
import { noticesIn } from "../demo/report.ts";
import { DOOMED, QUESTION, rehearse, TASKS } from "./scenario.ts";
import type { Server, Stage } from "./servers.ts";
import { createTeller, type Standing, standings } from "./story.ts";

/** Milliseconds between two looks. */
const LOOK_EVERY = 250;

/** How many milliseconds it goes on looking, when all is said, for a notice that would be one too many. */
const AFTERMATH = 4_000;

/** What came of the play. */
export interface Ending {
  tasks: Standing[];
  notices: Notice[];
  /** The server that was killed. */
  killed: string | undefined;
}

/** Makes the agent of `origin` launch its tasks, kills the worker that has the doomed one, and goes on until all is delivered. */
export const play = async (
  { model }: Stage,
  origin: Server,
  workers: readonly Server[],
  say: (who: string, words: string) => void,
  signal: AbortSignal,
): Promise<Ending> => {
  const { lab } = origin;
  const leader = await lab.session({ title: "A fleet" });
  rehearse(model, leader);
  const tell = createTeller();
  let killed: string | undefined;
  let notices: Notice[] = [];

  const killWorkerOf = async ({ server }: Standing) => {
    const doomed = workers.find(({ name }) => name === server);
    if (!doomed) return;
    await doomed.lab.opencode.kill();
    killed = doomed.name;
    say(doomed.name, "is killed (SIGKILL)");
  };

  /** Looks once. True when every task is delivered. */
  const look = async (): Promise<boolean> => {
    const tasks = standings(origin);
    for (const { description, words } of tell(tasks)) say(description, words);
    const doomed = tasks.find(({ description }) => description === DOOMED);
    const othersDone = tasks.filter(({ status }) => status === "completed").length;
    if (killed === undefined && doomed?.server !== undefined && othersDone > 0) await killWorkerOf(doomed);
    const now = noticesIn(await unless(signal, lab.messages(leader)));
    for (const { taskId } of now.slice(notices.length)) {
      say(tasks.find(({ id }) => id === taskId)?.description ?? taskId, "delivered to the agent that launched it");
    }
    notices = now;
    return notices.length >= TASKS;
  };

  say("the agent", QUESTION);
  await unless(signal, lab.prompt(leader, QUESTION));
  while (!(await look())) await unless(signal, nextBeat(lab, LOOK_EVERY));
  for (const until = Date.now() + AFTERMATH; Date.now() < until; ) {
    await unless(signal, nextBeat(lab, LOOK_EVERY));
    await look();
  }
  return { tasks: standings(origin), notices, killed };
};

/** Returns what went wrong, in words; nothing when each result was delivered once, and the killed worker's task by another. */
export const problemsOf = ({ tasks, notices, killed }: Ending): string[] => {
  const doomed = tasks.find(({ description }) => description === DOOMED);
  return [
    ...(tasks.length === TASKS ? [] : [`${tasks.length} tasks were launched, not ${TASKS}`]),
    ...(killed === undefined ? ["no worker was killed"] : []),
    ...(doomed?.begun === 2 && doomed.server !== killed ? [] : [`"${DOOMED}" was not begun anew by another server`]),
    ...tasks.flatMap(({ id, description, status, server }) => {
      const times = notices.filter(({ taskId }) => taskId === id).length;
      return [
        ...(times === 1 ? [] : [`"${description}" was delivered ${times} times`]),
        ...(status === "completed" && server !== undefined ? [] : [`"${description}" is ${status}, at ${server}`]),
      ];
    }),
  ];
};
