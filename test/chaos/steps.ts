import type { PausedBy } from "../../src/machines/task/events.ts";
import type { Wake } from "../../src/task.ts";
import type { Habit } from "../fakes/fake-host.ts";
import type { CallFault } from "./calls.ts";
import type { EventFault } from "./event-stream.ts";
import type { MODELS } from "./limits.ts";

/**
 * What launches a task: a tool call in a message of which the host knows nothing, or in one of the steps of a turn; the
 * latter may also fork.
 */
export type Launcher = "message" | "step" | "fork";

/**
 * One step of a schedule. Numbers select among what exists at that moment (modulo its count), those below 0 from its end; if
 * nothing exists, the step does nothing. Times are milliseconds.
 */
export type Step =
  // The agents, through the tools.
  | {
      do: "launch";
      parent: number;
      turn: number;
      from: Launcher;
      wake: Wake;
      priority: number;
      agent: "general" | "explore";
      model: (typeof MODELS)[number] | undefined;
      /** True for a call that waits for the end, where the toolset leaves the choice. */
      waits: boolean;
      answer: "stored" | "lost";
    }
  | { do: "launchBelow"; task: number }
  | { do: "delegate"; task: number; timeout: number; lasts: number }
  | { do: "resume"; task: number }
  | { do: "retry"; task: number }
  | { do: "steer"; task: number }
  | { do: "cancel"; task: number }
  | { do: "cancelAll"; parent: number }
  | { do: "pauseTask"; task: number; by: PausedBy }
  | { do: "continueTask"; task: number; by: PausedBy }
  | { do: "clear"; task: number }
  | { do: "clearAll"; parent: number }
  | {
      do: "read";
      task: number;
      whole: "task" | "batch";
      timeout: number;
      answer: "stored" | "lost";
      /** After how long the host has stored the answer, or lost it. */
      storedAfter: number;
    }
  | { do: "glance"; task: number }
  | { do: "list"; parent: number }
  | { do: "meddle"; task: number; call: "resume" | "retry" | "steer" | "cancel" | "clear" | "read" }
  // Users.
  | { do: "abort"; session: number }
  | { do: "converse"; parent: number }
  /** A person goes on in the session of a task that failed or was cancelled, and has its agent launch a task. */
  | { do: "comeBack"; task: number }
  | { do: "deleteChild"; task: number }
  | { do: "deleteParent"; parent: number }
  /** A person takes back the newest messages of an idle session, or takes that back. */
  | { do: "takeBack"; parent: number }
  | { do: "redo"; parent: number }
  | { do: "archive"; parent: number; isArchived: boolean }
  /** A person writes to their own session, whose model is at work until it is told to answer, or stops its turn. */
  | { do: "beginTurn"; parent: number }
  | { do: "stopParent"; parent: number }
  | { do: "copy"; parent: number; before: number | undefined }
  /** A person asks something of a task by the status API of this process. */
  | { do: "askByApi"; task: number; kind: "cancel" | "resume" | "retry" | "steer" }
  /**
   * People answer what a task asks by the status API of this process, so many at once, and one of them perhaps in OpenCode.
   * An unfit answer does not belong to what is asked.
   */
  | { do: "answerByApi"; task: number; answer: "grant" | "reject" | "unfit"; times: number; alsoInOpenCode: boolean }
  // The host and its models.
  | { do: "answer"; session: number; idles: number; unwritten: boolean; unseen: boolean }
  | { do: "fail"; session: number }
  /** The host itself errs, and the run ends with that. */
  | { do: "hostFault"; session: number }
  /** The provider never says why it stopped, step after step. */
  | { do: "stepsWithoutEnd"; session: number }
  /** The turn of a person's session is answered, fails, or the host says again that the session is there. */
  | { do: "answerParent"; parent: number }
  | { do: "parentFails"; parent: number }
  | { do: "showParent"; parent: number }
  /** The host reports an error, and goes on with the run by itself. */
  | { do: "goOnAfterError"; session: number; idle: boolean }
  /** The host sums a conversation up: by itself where it works, or because a person asks for it. */
  | { do: "compact"; session: number; ms: number; overflow: boolean }
  /** A turn ends after a tool call, without an answer. */
  | { do: "breakOff"; session: number }
  | { do: "refuseModel"; session: number }
  | { do: "refuseForNow"; session: number; ms: number }
  | { do: "ask"; task: number; kind: "permission" | "question"; lasts: number }
  | { do: "reply"; task: number }
  | { do: "callTools"; task: number; times: number; same: boolean }
  | { do: "runTool"; task: number; ms: number }
  | { do: "spend"; task: number; tokens: number; cost: number }
  | { do: "overspend"; task: number }
  /** A task makes the same call as often as it may not. */
  | { do: "circle"; task: number }
  /** A run's time is over, and something begins while its last words are read. */
  | { do: "dawdle"; task: number; begins: "tool" | "question" | "nothing" }
  /** The host says of a session, whatever it does, that it is idle or busy, or that something is wrong. */
  | { do: "hint"; session: number; says: "idle" | "busy" | "error" }
  | { do: "behave"; session: number; habit: Habit }
  | { do: "behaveChildren"; habit: Habit }
  // The connection between host and engine.
  | { do: "garble"; faults: EventFault[] }
  | ({ do: "strike"; times: number } & CallFault)
  // The process.
  | { do: "time"; ms: number }
  | { do: "crash"; down: number }
  | { do: "dieSoon"; points: number }
  | { do: "close"; aborts: boolean }
  | { do: "quit"; lingers: number }
  | { do: "pause"; ms: number }
  // Several processes. What follows happens in that one.
  | { do: "goTo"; process: number }
  /** Stops the process, as SIGSTOP does, until it wakes. */
  | { do: "freeze" }
  | { do: "wake" }
  // The file that several processes have open, and the clock of the machine that this one is on.
  | { do: "lockFile"; after: number; ms: number }
  | { do: "fillDisk"; ms: number }
  | { do: "checkpoint" }
  | { do: "setClock"; ms: number };

/** Formats a step, such as `read task=2 whole=task timeout=500 answer=stored`. */
export const wordsOf = ({ do: name, ...fields }: Step): string =>
  [
    name,
    ...Object.entries(fields).map(
      ([key, value]) => `${key}=${typeof value === "object" ? JSON.stringify(value) : String(value)}`,
    ),
  ].join(" ");
