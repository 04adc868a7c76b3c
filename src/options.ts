import { z } from "zod";

/** What the names of the other toolsets' tools begin with. */
const TAKEN = /^(elisha|create_subtask)(_|$)/;

const Toolset = z.enum(["tasks", "elisha", "subtasks"]);
/** A family of tools over the same engine. */
export type Toolset = z.infer<typeof Toolset>;

const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@]+$/;

/** The origin of a URL as a browser sends it, where it is one; extensions of browsers have schemes of their own. */
const isOrigin = (text: string): boolean =>
  ORIGIN.test(text) && URL.canParse(text) && (!/^https?:/.test(text) || new URL(text).origin === text);

/** What to write instead, for an error. A path is not cut off: who wrote one may think that it limits anything. */
const originFault = (text: string): string => {
  const origin = URL.canParse(text) ? new URL(text).origin : "null";
  const example = origin === "null" ? "https://dash.example" : origin;
  return `must be an origin as browsers send it, without a path or a slash at its end, such as "${example}"`;
};

const Origin = z.string().refine(isOrigin, { error: ({ input }) => originFault(String(input)) });

/** Every option of the plugin, with its default. In `opencode.json`: `"plugin": [["opencode-taskchart", { … }]]`. */
export const Options = z.strictObject({
  prefix: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,31}$/, "must be lower-case letters, digits and _, at most 32, beginning with a letter")
    .refine((prefix) => !TAKEN.test(prefix), "must not begin as the names of other toolsets do: elisha, create_subtask")
    .default("asyncagents")
    .describe("What the names of the tools in `tasks` begin with."),
  toolsets: z
    .array(Toolset)
    .min(1, "must name at least one toolset")
    .default(["tasks"])
    .describe(
      "Which tools agents get: `tasks` run in the background, `elisha` answers in JSON and waits unless told not to, `subtasks` is one waiting tool for each subagent.",
    ),
  subtasks: z
    .strictObject({
      onParentCancel: z
        .enum(["cancel", "detach"])
        .default("cancel")
        .describe("What becomes of a subtask when the turn that waits for it is aborted."),
    })
    .prefault({}),
  maxDepth: z.int().min(1).max(10).default(3).describe("How many tasks deep a task may launch tasks of its own."),
  staleAfter: z
    .int()
    .min(1_000)
    .default(600_000)
    .describe("Milliseconds without a sign of life after which a running task is shown as stale."),
  attention: z
    .strictObject({
      timeout: z
        .int()
        .min(1_000)
        .optional()
        .describe(
          "Milliseconds after which a permission or a question that nobody answers is rejected, and the task goes on; default: never.",
        ),
    })
    .prefault({}),
  recovery: z
    .enum(["continue", "fail"])
    .default("continue")
    .describe("What becomes of a task that was cut off when OpenCode ended: it goes on, or it ends in error."),
  retention: z
    .strictObject({
      days: z
        .number()
        .positive()
        .optional()
        .describe("Ended tasks of the directory are kept for so many days; default: for ever."),
      count: z
        .int()
        .min(0)
        .optional()
        .describe("So many ended tasks of the directory are kept, the newest; default: all."),
    })
    .prefault({}),
  api: z
    .strictObject({
      allowedOrigins: z
        .array(Origin)
        .default([])
        .describe(
          "Origins of web pages that may read the status API, beside those of this machine; those of all open directories count.",
        ),
      reads: z
        .enum(["user", "token", "open"])
        .default("user")
        .describe(
          "Who may read the status API without its token: `user` of this machine that OpenCode runs as, `token`: nobody, `open`: every user of it. The strictest of all open directories counts.",
        ),
    })
    .prefault({}),
  inspect: z
    .union([z.boolean(), z.literal("stately")], 'must be true, false or "stately"')
    .default(false)
    .describe(
      "Whether the charts can be watched live: `true` serves a page at /inspect of the status API, `stately` one at /inspect/stately that shows Stately's own.",
    ),
  fork: z
    .strictObject({
      maxToolResultChars: z
        .int()
        .min(100)
        .default(1_500)
        .describe("Characters of a tool result that a forked task inherits; a longer one is cut."),
      maxTokens: z
        .int()
        .min(1_000)
        .default(100_000)
        .describe("Estimated tokens that a forked task inherits; the oldest messages go first."),
    })
    .prefault({}),
  notice: z
    .strictObject({
      maxResultChars: z
        .int()
        .min(0)
        .default(10_000)
        .describe("Characters of a result that a notice carries; the rest is read with the output tool."),
    })
    .prefault({}),
});
export type Options = z.infer<typeof Options>;

/**
 * Reads the plugin's options.
 * @throws Error that names each wrong option, what it must be, and where to mend it.
 */
export const readOptions = (input: unknown): Options => {
  const read = Options.safeParse(input ?? {});
  if (read.success) return read.data;
  const faults = read.error.issues.map(({ path, message, code, ...issue }) => {
    const keys = code === "unrecognized_keys" && "keys" in issue ? issue.keys.join(", ") : "";
    const name = [...path, keys].filter((part) => part !== "").join(".");
    return `option "${name}": ${code === "unrecognized_keys" ? "there is no such option" : message}`;
  });
  throw new Error(
    `opencode-taskchart is not loaded. In opencode.json, ${faults.join("; ")}. Known options: ${Object.keys(Options.shape).join(", ")}.`,
  );
};
