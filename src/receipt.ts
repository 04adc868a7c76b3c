import { z } from "zod";

export const WrittenFile = z.object({
  path: z.string().describe("From the task's folder; absolute where it lies elsewhere."),
  change: z.enum(["added", "changed", "deleted"]).describe("What was done to it."),
  added: z
    .int()
    .nonnegative()
    .optional()
    .describe(
      "Lines that were added in all calls together, as the tools counted them; absent where one of them did not: it replaced the file whole.",
    ),
  removed: z.int().nonnegative().optional().describe("Lines that were removed; absent where `added` is, or may be."),
});
export type WrittenFile = z.infer<typeof WrittenFile>;

export const RanCommand = z.object({
  /** At most `COMMAND_CHARS` characters. */
  command: z.string().describe("The command, on one line and shortened."),
  exit: z.int().optional().describe("Its exit code; absent where none was seen."),
  end: z
    .enum(["exited", "timedOut", "aborted"])
    .describe("`exited` by itself; `timedOut`: the tool's time limit ended it; `aborted`: with its turn."),
  tests: z
    .enum(["passed", "failed", "unclear"])
    .optional()
    .describe(
      "Of a command that runs tests, what its exit code says of them. `unclear`: the exit code is that of another part of the line, as in `npm test | tail`, or there is none. Absent for other commands.",
    ),
});
export type RanCommand = z.infer<typeof RanCommand>;

export const ToolCount = z.object({
  tool: z.string().describe("The tool's name."),
  calls: z.int().positive().describe("How often it was called."),
  failed: z.int().nonnegative().describe("How many of these calls failed."),
});
export type ToolCount = z.infer<typeof ToolCount>;

export const GateFiles = z.object({
  fingerprint: z
    .string()
    .optional()
    .describe(
      "Git's id of the tree of all files in the working tree where it ran, as they were when it ended, but for those that git ignores: the same for the same files. Absent where it could not be taken.",
    ),
  problem: z.string().optional().describe("Why there is no fingerprint, in words; absent where there is one."),
  changedMeanwhile: z
    .boolean()
    .optional()
    .describe(
      "True where files changed while it ran: by its command, or by somebody else. Absent without a fingerprint.",
    ),
  haveChanged: z
    .boolean()
    .optional()
    .describe(
      "True where files have changed since it ended, whoever changed them, as was seen when the receipt was read. Absent where they were not compared: in lists and events, of a run on another server, and where they could not be read in time.",
    ),
});
export type GateFiles = z.infer<typeof GateFiles>;

export const GateBefore = z.object({
  exit: z.int().optional().describe("Its exit code; absent where it had none."),
  end: z
    .enum(["exited", "timedOut", "notRun", "interrupted"])
    .describe(
      "`exited` by itself; `timedOut`: its time limit ended it; `notRun`: it could not be started; `interrupted`: OpenCode ended three times while it ran, and it was not run again.",
    ),
});
export type GateBefore = z.infer<typeof GateBefore>;

export const GateResult = z.object({
  command: z.string().describe("The command."),
  runs: z.int().positive().describe("How often it was run, for one answer after the other."),
  exit: z.int().optional().describe("The exit code of its newest run; absent where it had none."),
  end: z
    .enum(["exited", "timedOut", "notRun"])
    .describe("`exited` by itself; `timedOut`: its time limit ended it; `notRun`: it could not be started."),
  files: GateFiles.optional().describe(
    "Which files it saw, in its newest run; absent where an earlier version ran it.",
  ),
  before: GateBefore.optional().describe(
    "How the same command ended before the task's agent began; absent where the options do not ask for that.",
  ),
});
export type GateResult = z.infer<typeof GateResult>;

/**
 * Why a result is not known to be the whole answer. `noStopReason`: the provider was asked again a few times, and then
 * stopped; the others are explained where the field is described.
 */
export const Incompleteness = z.enum(["length", "reasoning", "noStopReason", "remark"]);
export type Incompleteness = z.infer<typeof Incompleteness>;

/**
 * What was observed of a run, whatever its agent says of it: from what the host reported while the run was under way. Sessions
 * below the task's own that are no tasks count as its own.
 */
export const Receipt = z.object({
  run: z.int().nonnegative().describe("The number of the run: 0 is the launch."),
  isWhole: z
    .boolean()
    .describe(
      "False where part of the run could not be observed: its OpenCode ended, and the next one could not read what it did.",
    ),
  tools: z.array(ToolCount).describe("Its tool calls, the most called tool first; empty where no tool was called."),
  filesRead: z.int().nonnegative().describe("How many files its tools read."),
  files: z.array(WrittenFile).describe("The files that its tools wrote, in the order in which they first did."),
  otherFiles: z
    .array(z.string())
    .describe(
      "Files that changed in the folder while it was under way, though none of its tools says that it wrote them: a command did, or somebody else.",
    ),
  commands: z.array(RanCommand).describe("The commands that its agent ran in a shell, oldest first."),
  gate: GateResult.optional().describe(
    "How the command ended that checks its answers; absent where it has none, or no answer came to it.",
  ),
  incomplete: Incompleteness.optional().describe(
    "Why the run's result is not known to be the whole answer, as in `incomplete` of the task; absent where it is, or there is none.",
  ),
  omitted: z
    .object({
      files: z.int().nonnegative().describe("Files that its tools wrote."),
      otherFiles: z.int().nonnegative().describe("Other files that changed."),
      commands: z.int().nonnegative().describe("Commands."),
    })
    .describe("How many more there are of each than the lists show."),
  tokens: z.int().nonnegative().describe("Input, output and reasoning tokens of its steps."),
  cost: z.number().nonnegative().describe("US dollars."),
  workedMs: z.int().nonnegative().describe("Milliseconds in which its model and its tools worked."),
  waitedMs: z
    .int()
    .nonnegative()
    .describe("The rest of the run, in milliseconds: for a slot, a provider, a person, or its own tasks."),
});
export type Receipt = z.infer<typeof Receipt>;
