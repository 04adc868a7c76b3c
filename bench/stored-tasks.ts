import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Change, Store } from "../src/services/store/store.ts";
import { type ScriptedTask, scriptTask } from "../test/services/store/scripted-task.ts";

/** English prose, as agents write and read it: it says nothing twice, unlike a text that is repeated, which deflates to nothing. */
const PROSE = readFileSync(join(import.meta.dirname, "../docs/history.md"), "utf8").replaceAll(/[^\x20-\x7e\n]/g, "");

/** A part of the prose, another one for each number, of half to one and a half times as many bytes. */
const proseOf = (index: number, bytes: number): string => {
  const from = (index * 7_919) % (PROSE.length - 2 * bytes);
  return PROSE.slice(from, from + bytes / 2 + ((index * 617) % bytes));
};

/** 1 kB on average. */
export const promptOf = (index: number): string => proseOf(index, 1_000);

/** 4 kB on average. */
export const resultOf = (index: number): string => proseOf(index + 500_009, 4_000);

/** A session of a person launches about so many tasks. */
export const TASKS_OF_A_PARENT = 20;

const VERBS = ["find", "check", "explain", "fix", "test", "measure", "rename"];
const THINGS = ["the login flow", "the parser", "each flaky test", "the Übersicht", "the release notes"];
const AGENTS = ["general", "explore", "review"];

export const one = (of: readonly string[], index: number): string => of[index % of.length] ?? "";

/** A text that shares no memory with another's. */
const own = (text: string, index: number): string => Buffer.from(`${index} ${text}`).toString();

/** An id as long as OpenCode's. */
const idOf = (kind: "ses" | "batch", index: number): string => `${kind}_${String(index).padStart(26, "0")}`;

/** The id of a task's session. */
export const taskIdOf = (index: number): string => idOf("ses", index);

/** The id of the session that launched a task. */
export const parentIdOf = (index: number): string => idOf("ses", 1e9 + Math.floor(index / TASKS_OF_A_PARENT));

/** The id of the batch that a task belongs to. */
export const batchIdOf = (index: number): string => idOf("batch", Math.floor(index / 5));

/** A task like those that people have: prompts have 1 kB, agents, projects and descriptions vary. */
export const storyOf = (index: number): ScriptedTask =>
  scriptTask(taskIdOf(index), {
    after: index,
    prompt: own(promptOf(index), index),
    parentSessionID: parentIdOf(index),
    batchId: batchIdOf(index),
    agent: one(AGENTS, index),
    directory: `/home/somebody/projects/${index % 10}`,
    description: `${one(VERBS, index)} ${one(THINGS, index)} (${index})`,
  });

/** A task's whole life at once, its result of 4 kB. */
export const ended = (index: number): Change => {
  const story = storyOf(index);
  const changes = [story.launch(), story.answer(own(resultOf(index), index)), story.deliver()];
  return { records: [story.record()], journal: changes.flatMap(({ journal }) => journal), prompts: [] };
};

/** Stores so many ended tasks. */
export const fill = (store: Store, tasks: number): void => {
  for (let index = 0; index < tasks; index += 200) {
    const changes = Array.from({ length: 200 }, (_, more) => ended(index + more));
    store.commit({
      records: changes.flatMap(({ records }) => records),
      journal: changes.flatMap(({ journal }) => journal),
      prompts: [],
    });
  }
};
