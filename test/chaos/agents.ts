import { hasEnded } from "../../src/task.ts";
import type { FakeHost } from "../fakes/fake-host.ts";
import type { Stage } from "../fakes/stage.ts";
import type { VirtualClock } from "../fakes/virtual-clock.ts";
import type { Deliveries } from "./deliveries.ts";
import type { TaskObservations } from "./observations.ts";
import type { Sequence } from "./sequence.ts";
import type { UsageCounts } from "./usage-counts.ts";

/** A tool call that has not returned. */
export interface OpenCall {
  callID: string;
  sessionID: string;
  tool: string;
  /** Deadline for its return in epoch milliseconds; undefined for a call that does not wait, or has returned. */
  until: number | undefined;
  /** Whether the host stores its answer in the conversation or loses it. */
  answer: "stored" | "lost";
  abort: AbortController;
}

export interface CallOptions {
  turn?: string;
  answer?: OpenCall["answer"];
  /** Milliseconds from the call's return until the host has stored its answer, or lost it. */
  storedAfter?: number;
}

/** The agents of all sessions: they call tools, and the host stores or loses the answers. */
export interface Agents {
  /** Calls a tool. Resolves to the answer, or to undefined if the call was refused; never if the process dies. */
  call(
    sessionID: string,
    tool: string,
    args: Record<string, unknown>,
    options?: CallOptions,
  ): Promise<string | undefined>;
  open(): OpenCall[];
  /** Aborts the turn of the session and its tool calls. */
  abort(sessionID: string): void;
  /** OpenCode is about to end: all later answers are lost. */
  part(): void;
  /** OpenCode has ended. */
  die(): void;
}

export interface AgentParts {
  stage: Stage;
  host: FakeHost;
  clock: VirtualClock;
  tracks: TaskObservations;
  deliveries: Deliveries;
  usage: UsageCounts;
  sequence: Sequence;
  /** The number of the process among those that share the store; undefined for the only one. */
  place: number | undefined;
  isOver(): boolean;
}

/** True if an answer of the output tool reports that the task has ended. */
const endedIn = (answer: string, taskId: string): boolean =>
  answer.startsWith(`Task ${taskId}`)
    ? /^Status: (completed|error|cancelled) after/m.test(answer)
    : answer.split("\n").some((line) => new RegExp(`^- ${taskId}( \\S+)* · (completed|error|cancelled) · `).test(line));

const LONGEST_WAIT = 60_000;

export const createAgents = ({
  stage,
  host,
  clock,
  tracks,
  deliveries,
  usage,
  sequence,
  place,
  isOver,
}: AgentParts): Agents => {
  const open = new Map<string, OpenCall>();
  let count = 0;

  const isThere = (sessionID: string): boolean => host.sessionIDs().includes(sessionID);

  /** Returns the runs that a call waits for, and whether they had ended when it began. */
  const awaitedBy = (sessionID: string, { task_id, batch_id, block }: Record<string, unknown>) =>
    block
      ? stage.store
          .list({ parentSessionID: sessionID })
          .filter((task) => task.sessionID === task_id || task.batchId === batch_id)
          .map((task) => ({ taskId: task.sessionID, run: task.resumeCount, wasOver: hasEnded(task) }))
      : [];

  /** The host receives the answer or the error of a call. */
  const conclude = ({ callID, sessionID, tool }: OpenCall, stageOf: "stored" | "failed") => {
    open.delete(callID);
    if (!isThere(sessionID)) return;
    host.at(sessionID).toolCalls.set(callID, stageOf);
    host.emit({ type: "toolCall", sessionID, callID, tool, stage: stageOf });
  };

  /** Says of which runs an answer reports the end, and whether it was read after it, or waited for. */
  const reportedIn = (text: string, callID: string, awaited: ReturnType<typeof awaitedBy>) =>
    awaited
      .filter(({ taskId }) => endedIn(text, taskId))
      .map(({ taskId, run, wasOver }) => {
        // A task of a batch may be resumed meanwhile: the answer reports its newest run.
        const now = tracks.of(taskId)?.resumeCount ?? run;
        // A result that is due and in no notice yet is no longer due once the waiting call has read it.
        const { value, context } = stage.store.get(taskId)?.snapshot ?? {};
        const isOwed = value?.notice === "due" && context?.waiters.includes(callID);
        // A task of another process does not know of the call: its result is delivered as if nobody waited.
        const isUnknown = place !== undefined && !context?.waiters.includes(callID);
        const isRead = isUnknown || (wasOver && now === run && !isOwed);
        return { taskId, run: now, way: isRead ? ("byReading" as const) : ("byWaiting" as const) };
      });

  const call: Agents["call"] = (sessionID, tool, args, options = {}) => {
    const { turn = "msg_turn", answer = "stored", storedAfter = 0 } = options;
    count += 1;
    const callID = `call${place ?? ""}_${count}`;
    const until = args.block ? clock.now() + Number(args.timeout ?? LONGEST_WAIT) : undefined;
    const made: OpenCall = { callID, sessionID, tool, until, answer, abort: new AbortController() };
    open.set(callID, made);
    const awaited = awaitedBy(sessionID, args);
    sequence.say(sessionID, "call", "engine", `${tool} ${JSON.stringify(args)}`);
    host.at(sessionID).toolCalls.set(callID, "begun");
    usage.add(sessionID, { toolCalls: 1 });
    host.emit({ type: "toolCall", sessionID, callID, tool, stage: "begun" });
    const isGone = () => open.get(callID) !== made || isOver();
    return new Promise((resolve) => {
      stage.call(tool, args, { sessionID, messageID: turn, callID, abort: made.abort.signal }).then(
        (text) => {
          if (isGone()) return;
          made.until = undefined;
          const reported = reportedIn(text, callID, awaited);
          const store = () => {
            if (isGone()) return;
            const isStored = made.answer === "stored" && !made.abort.signal.aborted && isThere(sessionID);
            sequence.say("engine", isStored ? "answer" : "lost", sessionID, `${callID}: ${text}`);
            for (const { taskId, run, way } of isStored ? reported : []) deliveries.answered(taskId, run, way);
            conclude(made, isStored ? "stored" : "failed");
            resolve(text);
          };
          if (storedAfter > 0) clock.after(storedAfter, store);
          else store();
        },
        (error: unknown) => {
          if (isGone()) return;
          sequence.say("engine", "answer", sessionID, `${callID}: ${error instanceof Error ? error.message : error}`);
          conclude(made, "failed");
          resolve(undefined);
        },
      );
    });
  };

  return {
    call,
    open: () => [...open.values()],
    abort: (sessionID) => {
      for (const made of open.values()) if (made.sessionID === sessionID) made.abort.abort();
    },
    part: () => {
      for (const made of open.values()) made.answer = "lost";
    },
    die: () => open.clear(),
  };
};
