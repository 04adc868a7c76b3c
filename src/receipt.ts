import { z } from "zod";

/** A file that the task's own tools wrote in a run. */
export const WrittenFile = z.object({
  /** From the task's directory; absolute where it lies elsewhere. */
  path: z.string(),
  change: z.enum(["added", "changed", "deleted"]),
  /** Lines, as the tools counted them, in all calls together; absent where one did not: it replaced the file whole. */
  added: z.int().nonnegative().optional(),
  removed: z.int().nonnegative().optional(),
});
export type WrittenFile = z.infer<typeof WrittenFile>;

/** A command that the task's agent ran in a shell. */
export const RanCommand = z.object({
  /** At most `COMMAND_CHARS` characters, on one line. */
  command: z.string(),
  /** Absent where none was seen: see `end`. */
  exit: z.int().optional(),
  /** `exited` by itself; `timedOut`: the tool's own time limit ended it; `aborted`: with its turn. */
  end: z.enum(["exited", "timedOut", "aborted"]),
  /**
   * Of a command that runs tests: what its exit code says of them. `unclear`: it is that of another part of the line, as in
   * `npm test | tail`, or there is none. Absent for other commands.
   */
  tests: z.enum(["passed", "failed", "unclear"]).optional(),
});
export type RanCommand = z.infer<typeof RanCommand>;

/** The calls of one tool in a run. */
export const ToolCount = z.object({ tool: z.string(), calls: z.int().positive(), failed: z.int().nonnegative() });
export type ToolCount = z.infer<typeof ToolCount>;

/** How the command ended that checks a run's answers. */
export const GateResult = z.object({
  command: z.string(),
  /** How often it was run, for one answer after the other. */
  runs: z.int().positive(),
  /** Of its newest run. */
  exit: z.int().optional(),
  /** `exited` by itself; `timedOut`: its time limit ended it; `notRun`: it could not be started. */
  end: z.enum(["exited", "timedOut", "notRun"]),
});
export type GateResult = z.infer<typeof GateResult>;

/**
 * Why a result is not known to be the whole answer:
 * - `length`: the model reached the limit of its output in the middle of the answer
 * - `reasoning`: its reasoning used up that limit before it wrote an answer
 * - `noStopReason`: the provider never said that the model had finished; it was asked again a few times, and then stopped
 * - `remark`: a person wrote to the agent while it worked, and the message that ended its turn is to that
 */
export const Incompleteness = z.enum(["length", "reasoning", "noStopReason", "remark"]);
export type Incompleteness = z.infer<typeof Incompleteness>;

/**
 * What was observed of a run, whatever its agent says of it: from what the host reported while the run was under way. Sessions
 * below the task's own that are no tasks count as its own.
 */
export const Receipt = z.object({
  /** The number of the run: 0 is the launch. */
  run: z.int().nonnegative(),
  /** False where part of it could not be observed: its OpenCode process ended, and the next one could not read what it did. */
  isWhole: z.boolean(),
  /** The most called first. Empty: no tool was called. */
  tools: z.array(ToolCount),
  /** How many files the agent read with its tools. */
  filesRead: z.int().nonnegative(),
  /** The files that its tools wrote, in the order in which they did so first. */
  files: z.array(WrittenFile),
  /**
   * Files that changed in the directory while the run was under way, though none of its tools says that it wrote them: a
   * command did, or somebody else who works in the same directory.
   */
  otherFiles: z.array(z.string()),
  /** Oldest first. */
  commands: z.array(RanCommand),
  /** Absent where the task has no gate, or no answer came to it. */
  gate: GateResult.optional(),
  /** Why the run's result is not known to be the whole answer; absent where it is, or there is none. */
  incomplete: Incompleteness.optional(),
  /** How many more there are of each list than it shows. */
  omitted: z.object({
    files: z.int().nonnegative(),
    otherFiles: z.int().nonnegative(),
    commands: z.int().nonnegative(),
  }),
  /** Input, output and reasoning tokens of its steps. */
  tokens: z.int().nonnegative(),
  /** US dollars. */
  cost: z.number().nonnegative(),
  /** Milliseconds in which the agent's model and its tools worked. */
  workedMs: z.int().nonnegative(),
  /** The rest of the run, in milliseconds: for a slot, a provider, a person, or its own tasks. */
  waitedMs: z.int().nonnegative(),
});
export type Receipt = z.infer<typeof Receipt>;
