import { calls, failure, hang, text } from "./lab/reply.ts";
import type { ScriptedModel } from "./lab/scripted-model.ts";
import { inChild, launching } from "./tasks-and-notices.ts";

/** What a step of an agent has used. */
export const USED = { tokens: { input: 12_000, output: 340 } };

/** OpenCode with a model that has a price, and with commands that a person must permit. */
export const CONFIG = {
  permission: { bash: "ask" as const, question: "allow" as const },
  provider: { scripted: { models: { m1: { name: "M1", cost: { input: 3, output: 15 } } } } },
};

/** Launches four tasks: one works on, one waits for its own task, which asks a permission, one fails, one is completed. */
export const FOUR_LAUNCHES = [
  launching("find slow tests", { description: "Find the tests that take longer than a second" }),
  launching("review the migration", { description: "Review the migration" }),
  launching("write the changelog", { description: "Write the changelog" }),
  launching("count the tests", { description: "Count the tests", agent: "explore" }),
];

/** What the model of the third one answers. */
export const EXCEEDED = failure(400, "The context window is exceeded");

const bash = { name: "bash", args: { command: "sqlite3 copy.db .schema", description: "Shows the schema" } };

/** What the model of the one below the second answers at first: OpenCode asks the person whether it may. */
export const ASKING = calls([bash], USED);

/** Has the model of the four tasks, and of the one below them, answer in these ways. */
export const scriptFourTasks = (model: ScriptedModel): void => {
  const nested = launching("try it on a copy", { description: "Try it on a copy" });
  const glob = { name: "glob", args: { pattern: "**/*.test.ts" } };
  model.when(inChild("find slow tests"), [calls([glob], USED), hang()]);
  model.when(inChild("review the migration"), [calls([nested], USED), text("It is being tried.", USED)]);
  model.when(inChild("try it on a copy"), [ASKING, text("The copy has the new schema.")]);
  model.when(inChild("write the changelog"), EXCEEDED);
  model.when(inChild("count the tests"), text("There are 12 tests.", USED));
};
