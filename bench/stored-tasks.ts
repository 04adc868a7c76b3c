import type { Change, Store } from "../src/services/store/store.ts";
import { type ScriptedTask, scriptTask } from "../test/services/store/scripted-task.ts";

export const PROMPT = "Look at each file. ".repeat(54);
/** 4 kB in paragraphs, as agents write them. */
export const RESULT = `${"This is what I found. ".repeat(18)}\n\n`.repeat(10);
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
    prompt: own(PROMPT, index),
    parentSessionID: parentIdOf(index),
    batchId: batchIdOf(index),
    agent: one(AGENTS, index),
    directory: `/home/somebody/projects/${index % 10}`,
    description: `${one(VERBS, index)} ${one(THINGS, index)} (${index})`,
  });

/** A task's whole life at once, its result of 4 kB. */
export const ended = (index: number): Change => {
  const story = storyOf(index);
  const changes = [story.launch(), story.answer(own(RESULT, index)), story.deliver()];
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
