import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { initialTransition, transition } from "xstate";
import { statusOf, taskMachine } from "../../src/machines/task/machine.ts";
import type { Journal } from "../../src/machines/task/replay.ts";
import { replay } from "../../src/machines/task/replay.ts";
import { loadSqlite } from "../../src/services/store/sqlite/driver.ts";
import { openJournalReader } from "../../src/services/store/sqlite/journal-reader.ts";
import { takenBy, transitionsOf } from "../model/transitions.ts";
import { type Lab, startLab } from "./lab/lab.ts";
import { failure, hang, type Reply, text } from "./lab/reply.ts";
import { setUp } from "./lab/set-up.ts";
import { served } from "./status-api.ts";
import { storedTasks } from "./stored.ts";
import { inChild, launchFrom } from "./tasks-and-notices.ts";

let lab: Lab;

setUp(async () => {
  lab = await startLab();
  await served(lab);
  return () => lab.stop();
});

const folder = () => join(lab.options.home, "data", "opencode-taskchart");

const post = async (path: string, body: unknown = {}) => {
  const { url, token } = JSON.parse(readFileSync(join(folder(), "server.json"), "utf8"));
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const answer = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
  expect({ path, status: answer.status }).toEqual({ path, status: 200 });
};

/** How a run ends: what the model replies, and what is done once it is at work. */
interface Ending {
  reply: () => Reply;
  act?: (id: string) => Promise<unknown>;
  status: "completed" | "error" | "cancelled";
}

/** Ends that need no crash, by what brings them about. */
const ENDINGS: Readonly<Record<string, Ending>> = {
  answered: { reply: () => text("There are 12."), status: "completed" },
  refused: { reply: () => failure(401, "out of credit"), status: "error" },
  cancelled: { reply: hang, act: (id) => post(`/v1/tasks/${id}/cancel`), status: "cancelled" },
  aborted: { reply: hang, act: (sessionID) => lab.client.session.abort({ sessionID }), status: "cancelled" },
  deleted: { reply: hang, act: (sessionID) => lab.client.session.delete({ sessionID }), status: "error" },
};

const taskOf = (id: string) => storedTasks(lab).find((task) => task.id === id);

/** Waits until nothing is owed of these tasks. */
const atRest = (ids: string[]) =>
  lab.until(() => ids.every((id) => taskOf(id)?.owner === null), { what: "all are delivered" });

const endAll = async (word: string, ids: readonly string[]) => {
  for (const [index, [name, { act }]] of Object.entries(ENDINGS).entries()) {
    await lab.model.waitFor(inChild(`${name} ${word}`));
    await act?.(ids[index] ?? "");
  }
  await atRest([...ids]);
  expect(ids.map((id) => taskOf(id)?.status)).toEqual(Object.values(ENDINGS).map(({ status }) => status));
};

const script = (word: string) => {
  for (const [name, { reply }] of Object.entries(ENDINGS)) lab.model.when(inChild(`${name} ${word}`), reply());
};

/** Every task of this lab, as it was written down. */
const journals = async (): Promise<Journal[]> => {
  const file = openJournalReader(join(folder(), "tasks.db"), loadSqlite({ readonly: true }));
  const all = file.newest(100).flatMap(({ id }) => file.journal(id) ?? []);
  file.close();
  return all;
};

/** The lifecycle's own states that a journal goes through, and the transitions that it takes. */
const through = ({ origin, events }: Journal) => {
  if (!origin) throw new Error("a journal does not go back to the launch");
  let [snapshot] = initialTransition(taskMachine, origin);
  const steps: string[] = [];
  const taken = new Set<unknown>();
  for (const event of events) {
    for (const definition of takenBy(taskMachine, snapshot, event)) taken.add(definition);
    const before = statusOf(snapshot);
    [snapshot] = transition(taskMachine, snapshot, event);
    if (statusOf(snapshot) !== before) steps.push(`${before} → ${statusOf(snapshot)}`);
  }
  return { steps, taken };
};

test("tasks in the real OpenCode take every step of the lifecycle, and their journals replay", async () => {
  const names = Object.keys(ENDINGS);
  const parent = await lab.session();
  script("at first");
  await endAll(
    "at first",
    await launchFrom(
      lab,
      parent,
      names.map((name) => `${name} at first`),
    ),
  );

  const resumed = await launchFrom(
    lab,
    parent,
    names.map((name) => `answer before ${name}`),
  );
  await atRest(resumed);
  script("again");
  for (const [index, id] of resumed.entries())
    await post(`/v1/tasks/${id}/resume`, { prompt: `${names[index]} again` });
  await endAll("again", resumed);

  const cutOff = ["cut off at first", "cut off again"];
  for (const prompt of cutOff) lab.model.when(inChild(prompt), [hang(), text("went on")]);
  const [first = "", second = ""] = await launchFrom(lab, parent, ["cut off at first", "answer before the cut"]);
  await atRest([second]);
  await post(`/v1/tasks/${second}/resume`, { prompt: "cut off again" });
  for (const prompt of cutOff) await lab.model.waitFor(inChild(prompt));
  await lab.opencode.kill();
  await lab.restart();
  await lab.client.session.list();
  await atRest([first, second]);

  const all = await journals();
  expect(all).toHaveLength(2 * names.length + 2);
  for (const { origin, events, snapshot } of all) {
    expect(origin && JSON.parse(JSON.stringify(replay(origin, events).snapshot))).toEqual(snapshot);
  }
  const walks = all.map(through);
  const lifecycle = transitionsOf(taskMachine).filter(({ name }) => name.startsWith("lifecycle."));
  const taken = lifecycle.filter(({ definition }) => walks.some((walk) => walk.taken.has(definition)));
  console.info(`task chart in the real OpenCode: ${taken.length}/${lifecycle.length} transitions of the lifecycle`);
  expect([...new Set(walks.flatMap(({ steps }) => steps))].sort()).toEqual([
    "completed → resumed",
    "resumed → cancelled",
    "resumed → completed",
    "resumed → error",
    "running → cancelled",
    "running → completed",
    "running → error",
  ]);
});
