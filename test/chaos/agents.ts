import { isPaused } from "../../src/machines/task/machine.ts";
import type { FakeHost } from "../fakes/fake-host.ts";
import type { Stage } from "../fakes/stage.ts";
import type { VirtualClock } from "../fakes/virtual-clock.ts";
import type { AbandonedRuns } from "./abandoned-runs.ts";
import type { AgentCall, ToolsetWords, Wait } from "./agent-call.ts";
import { type AwaitedRun, createAnswers } from "./answers.ts";
import type { Deliveries } from "./deliveries.ts";
import type { TaskObservations } from "./observations.ts";
import type { Sequence } from "./sequence.ts";
import type { UsageCounts } from "./usage-counts.ts";

/** A tool call that has not returned. */
export interface OpenCall {
  callID: string;
  sessionID: string;
  tool: string;
  /** The ends that it waits for. */
  wait: Wait | undefined;
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
  /** Notes what the call may bring about, where the toolset offers it. */
  allows?: () => void;
}

/** The agents of all sessions: they call tools, and the host stores or loses the answers. */
export interface Agents {
  /**
   * Calls the tool for it, if the toolset has one. Resolves to the answer, or to undefined if the call was refused or not
   * made; never if the process dies.
   */
  call(sessionID: string, asked: AgentCall, options?: CallOptions): Promise<string | undefined>;
  /** How the agents speak to their tools. */
  words: ToolsetWords;
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
  abandonedRuns: AbandonedRuns;
  words: ToolsetWords;
  usage: UsageCounts;
  sequence: Sequence;
  /** The number of the process among those that share the store; undefined for the only one. */
  place: number | undefined;
  isOver(): boolean;
  fault(words: string): void;
}

/** Milliseconds within which a waiting call returns after its turn was aborted. */
const RETURNS_WITHIN = 6_000;

export const createAgents = (parts: AgentParts): Agents => {
  const { stage, host, clock, tracks, deliveries, abandonedRuns, words, usage, sequence, place, isOver } = parts;
  const answers = createAnswers(parts);
  const open = new Map<string, OpenCall>();
  let count = 0;

  const isThere = (sessionID: string): boolean => host.sessionIDs().includes(sessionID);

  /** The host receives the answer or the error of a call. */
  const conclude = ({ callID, sessionID, tool }: OpenCall, stageOf: "stored" | "failed") => {
    open.delete(callID);
    if (!isThere(sessionID)) return;
    host.at(sessionID).toolCalls.set(callID, stageOf);
    host.emit({ type: "toolCall", sessionID, callID, tool, stage: stageOf });
  };

  /** The turn that waits for a task is aborted: where the task is to end with it, its parent knows of that end. */
  const abandon = ({ callID, sessionID, wait }: OpenCall) => {
    if (wait?.whenAborted !== "isCancelled") return;
    const isPausedTask = (id: string) => isPaused(stage.store.get(id)?.snapshot);
    for (const task of answers.waitedForBy(sessionID, callID)) {
      // It was paused with its parent, and goes on with it.
      if (isPausedTask(sessionID) && isPausedTask(task.sessionID)) continue;
      tracks.mayEnd(task.sessionID);
      abandonedRuns.add(task);
    }
  };

  const call: Agents["call"] = (sessionID, asked, options = {}) => {
    const { turn = "msg_turn", answer = "stored", storedAfter = 0, allows } = options;
    const toolCall = words.toolCall(asked);
    if (!toolCall) return Promise.resolve(undefined);
    allows?.();
    const { tool, args, wait } = toolCall;
    count += 1;
    const callID = `call${place ?? ""}_${count}`;
    const until = wait?.atMost === undefined ? undefined : clock.now() + wait.atMost;
    const made: OpenCall = { callID, sessionID, tool, wait, until, answer, abort: new AbortController() };
    open.set(callID, made);
    const awaited: AwaitedRun[] = answers.awaitedBy(sessionID, wait);
    sequence.say(sessionID, "call", "engine", `${tool} ${JSON.stringify(args)}`);
    host.at(sessionID).toolCalls.set(callID, "begun");
    usage.add(sessionID, { toolCalls: 1 });
    host.emit({ type: "toolCall", sessionID, callID, tool, stage: "begun" });
    const isGone = () => open.get(callID) !== made || isOver();
    return new Promise((resolve) => {
      stage.call(tool, args, { sessionID, messageID: turn, callID, abort: made.abort.signal }).then(
        (text) => {
          if (isGone()) return;
          const isRefused = words.isRefusal(text);
          const isHeard = !isRefused && !made.abort.signal.aborted;
          const isEarly = until !== undefined && clock.now() < until;
          const reported = isHeard ? answers.read(text, made, awaited, isEarly) : [];
          made.until = undefined;
          const store = () => {
            if (isGone()) return;
            const isStored = made.answer === "stored" && !made.abort.signal.aborted && isThere(sessionID);
            sequence.say("engine", isStored ? "answer" : "lost", sessionID, `${callID}: ${text}`);
            for (const { taskId, run, way } of isStored ? reported : []) deliveries.answered(taskId, run, way);
            conclude(made, isStored ? "stored" : "failed");
            resolve(isRefused ? undefined : text);
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
    words,
    open: () => [...open.values()],
    abort: (sessionID) => {
      for (const made of open.values()) {
        if (made.sessionID !== sessionID) continue;
        if (!made.abort.signal.aborted) abandon(made);
        made.abort.abort();
        if (made.until !== undefined) made.until = Math.min(made.until, clock.now() + RETURNS_WITHIN);
      }
    },
    part: () => {
      for (const made of open.values()) made.answer = "lost";
    },
    die: () => open.clear(),
  };
};
