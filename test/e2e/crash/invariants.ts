import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { expect } from "vitest";
import { withJournals } from "../../../src/cli/task-database.ts";
import { replay } from "../../../src/machines/task/replay.ts";
import { snapshotDifferences } from "../../../src/services/replay/differences.ts";
import type { Lab } from "../lab/lab.ts";
import type { ModelRequest } from "../lab/model-request.ts";
import { dataFolder } from "../status-api.ts";
import { type StoredTask, storedTasks } from "../stored.ts";
import { noticesIn } from "../tasks-and-notices.ts";
import { answerOf, hasStepped, type Play, promptOf } from "./plays.ts";

/** A play that is over. */
export interface Played {
  lab: Lab;
  parent: string;
  play: Play;
  /** How many requests the model had got whenever OpenCode ended. */
  ends: number[];
}

/** Every task is at its end with the right result, and its parent was notified of each end once. */
const expectEnds = async ({ lab, parent, play }: Played, tasks: StoredTask[]) => {
  const runs = play.followUp ? 2 : 1;
  const notices = await noticesIn(lab, parent);
  for (const { id, prompt, ...task } of tasks) {
    expect(task).toEqual({ status: "completed", owner: null, result: answerOf(prompt) });
    const of = notices.filter(({ taskId }) => taskId === id);
    expect(of, `notices of ${id}`).toHaveLength(runs);
  }
};

/** The requests of children, with the process that made each, counted from 0. */
const childRequests = ({ lab, parent, ends }: Played): { life: number; request: ModelRequest }[] =>
  lab.model.requests.flatMap((request, index) =>
    request.sessionID === parent ? [] : { life: ends.filter((end) => end <= index).length, request },
  );

/** A step that a model has seen done is not asked for again, and within one process each is asked for once. */
const expectSteps = (played: Played, tasks: StoredTask[]) => {
  const { lab, play, ends } = played;
  const done = new Set<string>();
  const begun = new Set<string>();
  for (const { life, request } of childRequests(played)) {
    const run = `${promptOf(request)} in ${request.sessionID}`;
    if (hasStepped(request)) {
      done.add(run);
      continue;
    }
    expect(done, `the step is done again: ${run}`).not.toContain(run);
    expect(begun, `process ${life} begins twice: ${run}`).not.toContain(`${life}: ${run}`);
    begun.add(`${life}: ${run}`);
  }
  const file = join(lab.opencode.project, "steps.txt");
  const steps = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
  const prompts = play.followUp ? [...play.prompts, ...play.followUp.prompts] : tasks.map(({ prompt }) => prompt);
  // A step that was cut off after it left its line is no finished one: only the second end can come in between.
  const left = ends.length > 1 ? new Set(steps) : steps;
  expect([...left].toSorted()).toEqual(prompts.toSorted());
};

/** Copies that were cut off half made. Nobody can tell them from a person's, so they stay, and the log names them. */
const leftAlone = ({ lab }: Played): string[] =>
  lab.opencode
    .log()
    .split("\n")
    .filter((line) => line.includes("forks are left alone"))
    .flatMap((line) => line.match(/ses_\w+/g) ?? []);

/** A session that was made for a task which never came to be is removed. */
const expectSessions = async (played: Played, tasks: StoredTask[]) => {
  const { lab, parent } = played;
  const ids = [parent, ...tasks.map(({ id }) => id)].toSorted();
  const listed = async () => (await lab.client.session.list({})).data ?? [];
  const sessions = async () =>
    (await listed())
      .map(({ id }) => id)
      .filter((id) => !leftAlone(played).includes(id))
      .toSorted();
  await lab
    .until(async () => isDeepStrictEqual(await sessions(), ids), { what: `the sessions are ${ids.join(", ")}` })
    .catch(async (error) => {
      console.error(
        "The sessions:",
        JSON.stringify(await listed(), null, 1),
        "\nThe log:",
        ownLines(lab.opencode.log()),
      );
      throw error;
    });
};

/** What this plugin wrote in the host's log. */
const ownLines = (log: string): string =>
  log
    .split("\n")
    .filter((line) => line.includes("opencode-taskchart"))
    .join("\n");

/** Every journal leads to the snapshot that is stored with it. */
const expectJournals = ({ lab }: Played, tasks: StoredTask[]) =>
  withJournals(dataFolder(lab), (journals) => {
    for (const { id } of tasks) {
      const journal = journals.journal(id);
      if (!journal?.origin) throw new Error(`the journal of ${id} does not go back to its launch`);
      const replayed = replay(journal.origin, journal.events);
      expect(snapshotDifferences(replayed.snapshot, journal.snapshot), `the journal of ${id}`).toEqual([]);
    }
  });

/** What must hold when all is over, whatever ended OpenCode on the way. */
export const expectInvariants = async (played: Played) => {
  const tasks = storedTasks(played.lab);
  await expectEnds(played, tasks);
  expectSteps(played, tasks);
  await expectSessions(played, tasks);
  await expectJournals(played, tasks);
};

/**
 * An interface that was quit leaves no file of a server behind, though it opens its directory once more on the way. The
 * files of the process that was killed before stay until another one has served for a moment.
 */
export const expectNoServer = (lab: Lab) => {
  const folder = dataFolder(lab);
  const files = ["server.json", ...readdirSync(join(folder, "instances")).map((name) => join("instances", name))];
  const announced = files.flatMap((file) => {
    const path = join(folder, file);
    return existsSync(path) ? [(JSON.parse(readFileSync(path, "utf8")) as { pid: number }).pid] : [];
  });
  expect(announced.filter((pid) => pid !== lab.opencode.pid)).toEqual([]);
};
