import { z } from "zod";
import { en } from "zod/locales";
import { WAKES } from "./field-values.ts";
import type { ModelRef } from "./task.ts";

// Zod does this when it is loaded, and says of its package that it does nothing then: so the bundler may leave it out, and every
// message is "Invalid input".
z.config(en());

/** Prefixes of the tool names of the toolsets `elisha` and `subtasks`. */
const RESERVED_PREFIX = /^(elisha|create_subtask)(_|$)/;

const Toolset = z.enum(["tasks", "elisha", "subtasks"]);
/** A family of tools over the same engine. */
export type Toolset = z.infer<typeof Toolset>;

const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@]+$/;

/** True for an origin written exactly as browsers send it. Browser extensions have schemes of their own. */
const isOrigin = (text: string): boolean =>
  ORIGIN.test(text) && URL.canParse(text) && (!/^https?:/.test(text) || new URL(text).origin === text);

/** Describes what to write instead. A path is refused, not dropped: its author may believe that it limits access. */
const originError = (text: string): string => {
  const origin = URL.canParse(text) ? new URL(text).origin : "null";
  const example = origin === "null" ? "https://dash.example" : origin;
  return `must be an origin as browsers send it, without a path or a trailing slash, such as "${example}"`;
};

const Origin = z.string().refine(isOrigin, { error: ({ input }) => originError(String(input)) });

const MODEL_NAME = /^([^/]+)\/([^#]+)(?:#(.+))?$/;

/** A model by the name that people write, as the host takes it. The provider ends at the first slash. */
const Model = z
  .string()
  .regex(MODEL_NAME, 'must be written "provider/model" or "provider/model#variant"')
  .transform((name): ModelRef => {
    const [, providerID = "", modelID = "", variant] = MODEL_NAME.exec(name) ?? [];
    return { providerID, modelID, ...(variant === undefined ? {} : { variant }) };
  });

/** Aborts, so that all of an agent's setting is wrong where it is no command, and not a part of it. */
const Command = z.string().trim().min(1, { error: "must be a command", abort: true });

/** The gate of an agent: its command, or that with a setting of its own. */
const GateSetting = z.union([Command, z.strictObject({ command: Command, before: z.boolean().optional() })], {
  error: 'must be a command, or an object such as { "command": "npm test", "before": true }',
});

const ENGINE = /^(nats|tls|wss?):\/\/[^\s/?#@]+\/?$/;

/**
 * Describes what is wrong with the address of a fleet's broker, and what to write instead; undefined where nothing is.
 * `credentials` is how the person who wrote it names the credentials file.
 */
export const brokerProblem = (url: string, credentials: string): string | undefined => {
  if (ENGINE.test(url)) return undefined;
  // It would come into logs.
  if (url.includes("@"))
    return `must not contain a user or a password: those belong in the file that ${credentials} names`;
  return 'must be the address of a NATS server, such as "nats://10.0.0.5:4222", "tls://…" or "wss://…"';
};

const BrokerUrl = z.string().superRefine((url, context) => {
  const message = brokerProblem(url, "fleet.credentials");
  if (message !== undefined) context.addIssue({ code: "custom", message });
});

/** A number of tasks that may be at work at once. */
const Slots = z.int().min(1);

/**
 * Every option of the plugin. Each has a default or may be left out, and a description for users from which the list
 * of options is generated.
 * @example In `opencode.json`: `"plugin": [["opencode-taskchart", { "maxDepth": 2, "api": { "reads": "token" } }]]`
 */
export const Options = z.strictObject({
  prefix: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,31}$/, "must be lower-case letters, digits and _, at most 32, starting with a letter")
    .refine(
      (prefix) => !RESERVED_PREFIX.test(prefix),
      "must not start with a prefix another toolset uses: elisha, create_subtask",
    )
    .default("asyncagents")
    .describe("Prefix of the tool names in the toolset `tasks`, as in `asyncagents_task`."),
  toolsets: z
    .array(Toolset)
    .min(1, "must name at least one toolset")
    .default(["tasks"])
    .describe(
      "Tools that agents get. `tasks`: tools that run tasks in the background. `elisha`: tools that answer in JSON and wait for the result unless called with `async: true`. `subtasks`: one tool per subagent, which waits for the result.",
    ),
  permission: z
    .string()
    .regex(/^[a-z][a-z0-9_]*$/, "must be the name of a permission: lower-case letters, digits and _")
    .default("task")
    .describe(
      'The permission that a launch needs, with the name of the agent as its pattern. `task` is the one of OpenCode\'s own tool: to turn that tool off, as with `"tools": { "task": false }`, forbids these launches, too. With another name, such as `asyncagents_task`, they have rules of their own.',
    ),
  subtasks: z
    .strictObject({
      onParentCancel: z
        .enum(["cancel", "detach"])
        .default("cancel")
        .describe(
          "What happens to a subtask when the turn that waits for it is aborted. `cancel`: the subtask is cancelled. `detach`: it continues in the background.",
        ),
    })
    .prefault({}),
  maxDepth: z
    .int()
    .min(1)
    .max(10)
    .default(3)
    .describe("How many levels deep tasks may nest. 1: a task cannot launch tasks of its own. At most 10."),
  timeouts: z
    .strictObject({
      stale: z
        .int()
        .min(1_000)
        .default(600_000)
        .describe(
          "Milliseconds without any activity after which a running task is shown as stale, and the user and the agent are notified, once. The task goes on. At least 1000.",
        ),
      run: z
        .int()
        .min(1_000)
        .optional()
        .describe(
          "Milliseconds that a run of a task may take, from when it gets a slot; after that it ends with status `error`. It is never ended while a tool runs or it waits for the user. Time in which OpenCode does not run counts. At least 1000. Not set: any time.",
        ),
      provider: z
        .int()
        .min(1_000)
        .default(86_400_000)
        .describe(
          "Milliseconds for which a task waits at most for a provider that refuses it and says when it serves again, as where a quota is used up. One that would wait for longer ends with status `error`. At least 1000.",
        ),
      takeover: z
        .int()
        .min(15_000)
        .default(300_000)
        .describe(
          "Milliseconds without a sign of life after which the tasks of an OpenCode whose process still runs on this machine are taken over by another one in the directory. Those of a process that has ended are taken over at once. At least 15000.",
        ),
    })
    .prefault({}),
  budget: z
    .strictObject({
      toolCalls: z
        .int()
        .min(1)
        .optional()
        .describe(
          "Tool calls that a task may make, in all its runs since its launch or its newest retry, and with the tasks and OpenCode's own subagents that it launches; with one more its run ends with status `error`. Not set: any number.",
        ),
      tokens: z
        .int()
        .min(1)
        .optional()
        .describe(
          "Input, output and reasoning tokens that a task may use, counted in the same way. Not set: any number.",
        ),
      cost: z
        .number()
        .positive()
        .optional()
        .describe(
          "US dollars that a task may cost, as OpenCode counts them, counted in the same way. Not set: any cost.",
        ),
      tasksPerParent: z
        .int()
        .min(1)
        .default(200)
        .describe("Tasks that one session may have, ended ones included; further launches are refused."),
    })
    .prefault({}),
  loop: z
    .strictObject({
      repeat: z
        .int()
        .min(2)
        .default(20)
        .describe(
          "How often in a row a task may call the same tool with the same arguments: at this number its run ends with status `error`. At least 2.",
        ),
    })
    .prefault({}),
  concurrency: z
    .strictObject({
      default: Slots.default(10).describe(
        "How many tasks may be at work at once, in all processes and directories together. Others wait in a queue, in the order of their priority, then of their age. A task that waited for you or for tasks of its own goes on at once, even above the limit; nothing new starts until there is room again. At least 1.",
      ),
      providers: z
        .record(z.string(), Slots)
        .default({})
        .describe(
          'How many tasks of a provider may be at work at once, such as `{ "anthropic": 3 }`. All limits that concern a task apply.',
        ),
      models: z
        .record(z.string().regex(/^[^/]+\/./, 'must be written "provider/model"'), Slots)
        .default({})
        .describe('How many tasks of a model may be at work at once, such as `{ "anthropic/claude-opus-4-5": 1 }`.'),
      agents: z
        .record(z.string(), Slots)
        .default({})
        .describe('How many tasks of an agent may be at work at once, such as `{ "explore": 4 }`.'),
    })
    .prefault({}),
  fallback: z
    .strictObject({
      agents: z
        .record(z.string(), z.array(Model).min(1, "must name at least one model"))
        .default({})
        .describe(
          'Models with which a run of an agent goes on, in the same session, when its model is refused: its key or quota is not accepted, it is unknown, or its provider is overloaded. In this order, such as `{ "general": ["openai/gpt-5.2", "anthropic/claude-sonnet-4-5#high"] }`. A run tries each once; when none is left it ends with status `error`, as it does for an agent without such a list. The next run begins with the task\'s own model again.',
        ),
      after: z
        .int()
        .min(0)
        .default(60_000)
        .describe(
          "Milliseconds for which a provider may make a run wait, by a rate limit or under load, before the next model goes on. Where the provider says at once that it will be longer, the next model goes on at once. OpenCode itself gives up after five tries, which without `retry-after` is after a minute.",
        ),
    })
    .prefault({}),
  gate: z
    .strictObject({
      agents: z
        .record(z.string(), GateSetting)
        .default({})
        .describe(
          'A command for each agent whose answers must pass it, such as `{ "build": "npm test" }`, or `{ "build": { "command": "npm test", "before": true } }` with another `before` than the option of that name. It runs in the shell `/bin/sh`, where the task worked, when the agent has answered. With exit code 0 the task is completed. Otherwise the agent is given the exit code and the end of the output, and goes on.',
        ),
      tries: z
        .int()
        .min(0)
        .max(20)
        .default(2)
        .describe(
          "How often an agent goes on after its answer failed; with one failure more the run ends with status `error`, and its last answer is kept. At most 20.",
        ),
      timeout: z
        .int()
        .min(1_000)
        .default(600_000)
        .describe(
          "Milliseconds that the command may take; after that it is ended, and counts as failed. At least 1000.",
        ),
      before: z
        .boolean()
        .default(false)
        .describe(
          "Whether the command is run once before the agent begins, too. The receipt then says whether it had passed before the task changed anything. However it ends, the agent begins; until then the task holds its slot.",
        ),
    })
    .prefault({}),
  schema: z
    .strictObject({
      agents: z
        .record(z.string(), z.record(z.string(), z.unknown()))
        .default({})
        .describe(
          'A JSON Schema for each agent whose results must fit it, such as `{ "explore": { "type": "object", "required": ["files"], "properties": { "files": { "type": "array", "items": { "type": "string" } } } } }`: of draft 2020-12, or of draft-07 where `$schema` says so. The agent is given it with each prompt. An answer that does not fit is returned once; if the next one does not fit either, the run ends with status `error`, and the answer is kept.',
        ),
    })
    .prefault({}),
  worktree: z
    .strictObject({
      agents: z
        .array(z.string())
        .default([])
        .describe(
          'Agents whose tasks each work in a git worktree of their own, such as `["build"]`: it begins with the project\'s files as they are, and what the task changes there is applied by you (`opencode-taskchart apply`). A launch may ask for one, too.',
        ),
      setup: z
        .string()
        .min(1, "must be a command")
        .optional()
        .describe(
          'A shell command that prepares each new worktree before its task starts, run in it, such as `npm ci` or `ln -s "$TASKCHART_SOURCE/node_modules" .`: a worktree has no files that git ignores. `TASKCHART_SOURCE` is the folder that it was made from. What the command leaves behind does not count as changed. At most ten minutes. Not set: nothing is prepared.',
        ),
      keep: z
        .number()
        .positive()
        .default(7)
        .describe(
          "Days for which a worktree with changes is kept after its task has ended, unless they are applied or discarded before. One with files that its patch does not have is kept until you discard it. Their patch is kept as long as the task.",
        ),
    })
    .prefault({}),
  fleet: z
    .strictObject({
      url: BrokerUrl.optional().describe(
        "The address of the NATS server that the servers of a fleet share, such as `nats://10.0.0.5:4222`, `tls://…` or `wss://…`. `opencode-taskchart fleet init` sets a fleet up on it. All other options of `fleet` need it. With this option, tasks may run on other servers. Anyone who can queue jobs for a server can run commands as the user of that server.",
      ),
      credentials: z
        .string()
        .min(1, "must be the path of a file")
        .optional()
        .describe(
          "The NATS credentials file by which this server shows that it belongs to the fleet, such as `~/.config/fleet.creds`. Not set: the NATS server lets anybody in.",
        ),
      work: z
        .int()
        .min(0)
        .max(100)
        .default(0)
        .describe(
          "How many tasks of other servers this one works on at once, for each project that is open in it. 0: none. `opencode run` works for nobody else.",
        ),
      offer: z
        .array(z.string())
        .default([])
        .describe(
          'Agents whose tasks are for other servers, such as `["explore"]`. A task runs here all the same when no other server can have its files: its commit is not on a remote branch, or it works in a worktree; and when it begins with the conversation, has a gate, or is not taken in time.',
        ),
      retries: z
        .int()
        .min(0)
        .max(10)
        .default(1)
        .describe(
          "How often a task of this server is begun anew when the server that worked on it is gone. What it had done outside its worktree stays done. 0: never; it then ends with status `error`.",
        ),
      patience: z
        .int()
        .min(1_000)
        .default(900_000)
        .describe("Milliseconds for which a task waits for another server. After that it runs here. At least 1000."),
      pool: z
        .string()
        .min(1, "must be a name")
        .optional()
        .describe(
          "The name under which servers take tasks from each other. Not set: OpenCode's id of the project, which all clones of a git repository share.",
        ),
      name: z
        .string()
        .min(1, "must be a name")
        .max(60)
        .optional()
        .describe("What people of the fleet know this server by. Not set: the name of the machine."),
    })
    .optional(),
  attention: z
    .strictObject({
      timeout: z
        .int()
        .min(1_000)
        .optional()
        .describe(
          "Milliseconds after which a permission or question that the user has not answered is rejected; the task then continues without it. At least 1000. Not set: never.",
        ),
    })
    .prefault({}),
  wake: z
    .enum(WAKES)
    .default("each")
    .describe(
      "When tasks that end wake the agent that launched them. `each`: every task does, in a turn of its own. `all`: the last task of a batch does, and any that failed; results before that are delivered with it. An agent may choose for each task. `opencode run` delivers each at once.",
    ),
  promptCache: z
    .int()
    .min(0)
    .max(86_400_000)
    .default(0)
    .describe(
      "Milliseconds for which the provider keeps a conversation in its prompt cache, such as `300000`. Until shortly before so much time has passed since an agent's last answer, notices of its tasks wait for those of its other tasks at work, so that one turn delivers them all and finds the conversation in the cache. A task that failed is not held back, nor is anything while the agent is at work. `0`: no notice waits.",
    ),
  recovery: z
    .enum(["continue", "fail"])
    .default("continue")
    .describe(
      "What happens to a task that was running when OpenCode ended. `continue`: the next OpenCode continues it. `fail`: it ends with status `error`.",
    ),
  retention: z
    .strictObject({
      days: z
        .number()
        .positive()
        .optional()
        .describe("Days for which ended tasks of this directory are kept. Not set: forever."),
      count: z
        .int()
        .min(0)
        .optional()
        .describe(
          "Number of ended tasks of this directory that are kept, newest first, in addition to those whose worktree has changes that you have neither applied nor discarded. Not set: all.",
        ),
    })
    .prefault({}),
  api: z
    .strictObject({
      allowedOrigins: z
        .array(Origin)
        .default([])
        .describe(
          "Origins of web pages that may read the status API, in addition to pages served from this machine; each without a path or a trailing slash, such as `https://dash.example`. The lists of all open directories are combined.",
        ),
      reads: z
        .enum(["user", "token", "open"])
        .default("user")
        .describe(
          "Who may read the status API without its token. `user`: programs of the user that OpenCode runs as. `token`: nobody. `open`: every user of this machine. The strictest setting of all open directories applies.",
        ),
    })
    .prefault({}),
  inspect: z
    .union([z.boolean(), z.literal("stately")], 'must be true, false or "stately"')
    .default(false)
    .describe(
      'Whether the statecharts can be watched live in a browser. `true`: the status API serves a page at `/inspect`. `"stately"`: it serves `/inspect/stately`, which shows Stately\'s inspector and needs the internet.',
    ),
  fork: z
    .strictObject({
      maxToolResultChars: z
        .int()
        .min(100)
        .default(1_500)
        .describe("Characters of each tool result that a forked task inherits; longer results are cut. At least 100."),
      maxTokens: z
        .int()
        .min(1_000)
        .default(100_000)
        .describe(
          "Estimated tokens that a forked task inherits; the oldest messages are dropped first. At least 1000.",
        ),
    })
    .prefault({}),
  list: z
    .strictObject({
      maxTasks: z
        .int()
        .min(1)
        .optional()
        .describe(
          "Tasks that have a line each in the list of an agent's tasks; of older batches there is the heading alone, and the output tool lists their tasks. An agent pays for each line again with every later request: 300 tasks are some 25 kB. The newest batch, and those in which a task is live, are always whole. Not set by default: all tasks have a line, as long as OpenCode does not cut the answer (50 kB, or 2,000 lines).",
        ),
    })
    .prefault({}),
  reminder: z
    .strictObject({
      ended: z
        .int()
        .min(0)
        .default(0)
        .describe(
          "Ended tasks, the newest, that a reminder of an agent's tasks names after a compaction, beside those that are active; of the others it says how many there are.",
        ),
    })
    .prefault({}),
  notice: z
    .strictObject({
      maxResultChars: z
        .int()
        .min(0)
        .optional()
        .describe(
          "Characters of a result that a notice carries at most; the agent reads the rest with the output tool. Not set by default: a notice carries whole results, as long as together they take no more than half of what is free in the window of the model that reads it; only where they take more are they cut.",
        ),
    })
    .prefault({}),
});
export type Options = z.infer<typeof Options>;

/** The options that apply, and what was wrong with those that were given. */
interface OptionsRead {
  options: Options;
  /** A sentence for each given option that cannot be used, and was left out. */
  problems: string[];
}

type Issue = z.core.$ZodIssue;

/** The options that an issue is about: several where an object has keys that it must not have. */
const pathsOf = (issue: Issue): PropertyKey[][] =>
  issue.code === "unrecognized_keys" ? issue.keys.map((key) => [...issue.path, key]) : [issue.path];

/** What is wrong, in the words of the option; of a key, what the schema of keys says. */
const reasonOf = (issue: Issue): string =>
  (issue.code === "invalid_key" ? issue.issues[0]?.message : undefined) ?? issue.message;

const problemOf = (issue: Issue): string[] =>
  pathsOf(issue).map((path) => {
    if (path.length === 0) return "the options must be an object";
    const isUnknown = issue.code === "unrecognized_keys";
    return `option "${path.join(".")}": ${isUnknown ? "there is no such option" : `${reasonOf(issue)}; the default is used`}`;
  });

/** Returns the options without the one at that path; a list is left out as a whole. */
const without = (given: unknown, [key, ...rest]: PropertyKey[]): unknown => {
  if (key === undefined || typeof given !== "object" || given === null || Array.isArray(given)) return undefined;
  const { [key]: value, ...others } = given as Record<PropertyKey, unknown>;
  const left = without(value, rest);
  return left === undefined ? others : { ...others, [key]: left };
};

/**
 * Without it, Zod writes and compiles a function for each object of the options at the first reading, which is the only one: 6
 * of the 140 ms of computing that the first model request waits for (measured).
 */
const JITLESS = { jitless: true };

/**
 * Reads the plugin's options. One that is wrong gets its default, so that one mistake disables one option, not the plugin.
 * @param given The options object from `opencode.json`; undefined gives every option its default.
 */
export const readOptions = (given: unknown): OptionsRead => {
  const read = Options.safeParse(given ?? {}, JITLESS);
  if (read.success) return { options: withWholeFleet(read.data), problems: missingIn(read.data) };
  const { issues } = read.error;
  const usable = issues.flatMap(pathsOf).reduce(without, given);
  return { options: withWholeFleet(Options.parse(usable ?? {}, JITLESS)), problems: issues.flatMap(problemOf) };
};

/** Switches the fleet off where it has no `fleet.url`. */
const withWholeFleet = (options: Options): Options => ({
  ...options,
  fleet: options.fleet?.url === undefined ? undefined : options.fleet,
});

const missingIn = ({ fleet }: Options): string[] =>
  fleet && fleet.url === undefined ? [`option "fleet.url": must be set; tasks run here alone`] : [];

/** Names what is wrong with the options, and where to correct it; undefined where nothing is. */
export const optionsError = (problems: string[]): string | undefined =>
  problems.length === 0
    ? undefined
    : `opencode-taskchart: in opencode.json, ${problems.join("; ")}. Known options: ${Object.keys(Options.shape).join(", ")}.`;
