import type { HostEvent, MessageInfo } from "../../machines/host-events.ts";
import type { RunAnswer } from "../../task.ts";
import { type Host, joinTexts } from "../host/host.ts";
import type { Clock } from "../platform/clock.ts";
import { shareCalls } from "../platform/concurrency.ts";
import { isOwnMessageID } from "../platform/ids.ts";
import { errorMessage, type Log } from "../platform/log.ts";
import { remember } from "../platform/remember.ts";
import { determineRunOutcome } from "./run-outcome.ts";

interface SessionObservation {
  isBusy: boolean;
  /** The newest message, whatever its role. */
  newest: ObservedMessage | undefined;
}

interface ObservedMessage {
  info: MessageInfo;
  /** Its own text parts by id. */
  texts: Map<string, string>;
  callsTools: boolean;
}

/**
 * Creates an empty record of what the host's events have shown of the sessions that work on a run. To ask the host for an
 * answer takes two calls, which queue behind its own work when many children end together; a plain answer, which the events give
 * completely, is read from them instead.
 */
export const createObservedAnswers = () => {
  const observations = new Map<string, SessionObservation>();

  const observationOf = (sessionID: string): SessionObservation => {
    const known = observations.get(sessionID) ?? { isBusy: true, newest: undefined };
    observations.set(sessionID, known);
    return known;
  };

  return {
    /** Handles an event of a session whose run is under way. */
    onHostEvent: (event: HostEvent) => {
      const { type, sessionID } = event;
      const session = observationOf(sessionID);
      if (type === "busy" || type === "retrying" || type === "idle") session.isBusy = type !== "idle";
      const { newest } = session;
      if (type === "message") {
        const { message: info } = event;
        if (info.id === newest?.info.id) newest.info = info;
        else if (!newest || info.id > newest.info.id) session.newest = { info, texts: new Map(), callsTools: false };
      }
      if (type === "toolCall" && newest) newest.callsTools = true;
      if (type === "text" && event.messageID === newest?.info.id) newest.texts.set(event.partID, event.text);
    },
    /** The answer to the prompt, if the events alone show that the run ended with one; otherwise the host has to be asked. */
    answerOf: (sessionID: string, messageID: string): ({ completedAt: number } & RunAnswer) | undefined => {
      const session = observations.get(sessionID);
      if (!session?.newest || session.isBusy) return undefined;
      const { info, texts, callsTools } = session.newest;
      const parts = [...texts].toSorted(([a], [b]) => (a < b ? -1 : 1));
      const message = {
        ...info,
        ...(callsTools ? ({ tools: "called" } as const) : {}),
        text: joinTexts(parts.map(([, text]) => text)),
      };
      const outcome = determineRunOutcome({
        messages: [message],
        messageID,
        storedAt: undefined,
        earlier: new Set(),
        hostError: undefined,
      });
      // If this message has no text, an earlier one may have it.
      if (outcome.is !== "answered" || outcome.result === "") return undefined;
      const { is: _, isPromptKnown: __, ...answer } = outcome;
      return answer;
    },
    forget: (sessionID: string) => {
      observations.delete(sessionID);
    },
  };
};

/**
 * Milliseconds that the host may take to begin a subagent in the background, or to give its result to its caller. It took 100
 * and 60 (measured); a busy machine needs more. After that it will not.
 */
const PATIENCE_MS = 10_000;

/** A subagent that the host's own tool has begun in the background. Times are epoch milliseconds. */
interface Subagent {
  /** The session whose agent began it, and is given its result. */
  callerID: string;
  /** When something was last heard of it. */
  heardAt: number;
  /** It has begun, works, has ended, or its caller has its result and is about to go on. */
  stage: "begun" | "working" | "ended" | "reported";
}

/**
 * Creates a record of the descendants of tasks that work and are no tasks: the host's own subagents. One that works in the
 * background goes on when the turn of its caller has ended, and then wakes it with its result. Only events of this process
 * count: the host has its subagents in memory, and those of a process that has ended do not work any more.
 * @param ancestorTask the task for which a session counts that has no task of its own
 */
export const createDescendantWork = (
  clock: Pick<Clock, "now">,
  ancestorTask: (sessionID: string) => string | undefined,
) => {
  /** When something was last heard of each session that works, epoch milliseconds. */
  const busy = new Map<string, number>();
  /** By the session that each works in. */
  const subagents = new Map<string, Subagent>();

  const advance = (sessionID: string, stage: Subagent["stage"]) => {
    const subagent = subagents.get(sessionID);
    if (subagent) subagents.set(sessionID, { ...subagent, stage, heardAt: clock.now() });
  };

  const onEnded = (sessionID: string) => {
    busy.delete(sessionID);
    advance(sessionID, "ended");
  };

  /** Only the host writes to a caller when one of its subagents has ended. */
  const onReport = (callerID: string) => {
    for (const [id, subagent] of subagents) {
      if (subagent.callerID === callerID && subagent.stage === "ended") return advance(id, "reported");
    }
  };

  const forgetReported = (callerID: string) => {
    for (const [id, subagent] of subagents) {
      if (subagent.callerID === callerID && subagent.stage === "reported") subagents.delete(id);
    }
  };

  const isAlive = ({ stage, heardAt }: Subagent): boolean => stage === "working" || clock.now() - heardAt < PATIENCE_MS;

  const countsFor = (sessionID: string, taskId: string): boolean =>
    sessionID === taskId || ancestorTask(sessionID) === taskId;

  return {
    onHostEvent: (event: HostEvent) => {
      const { type, sessionID } = event;
      if (type === "busy" || type === "retrying") {
        busy.set(sessionID, clock.now());
        advance(sessionID, "working");
        forgetReported(sessionID);
      }
      if (type === "idle" || type === "deleted") {
        onEnded(sessionID);
      }
      if (type === "deleted") subagents.delete(sessionID);
      if (type === "toolCall" && event.effect?.kind === "background") {
        const stage = busy.has(event.effect.sessionID) ? "working" : "begun";
        subagents.set(event.effect.sessionID, { callerID: sessionID, heardAt: clock.now(), stage });
      }
      if (type === "message" && event.message.role === "user" && !isOwnMessageID(event.message.id)) onReport(sessionID);
    },
    /**
     * Makes up for missed events. `sessions` are those that the host says are busy now: any other one has ended, unless something
     * was heard of it within `PATIENCE_MS`.
     */
    onBusyRead: (sessions: ReadonlySet<string>) => {
      for (const [id, heardAt] of busy) {
        // Where a worktree does not answer, the host's list has its tasks, and none of their descendants.
        const isListed = sessions.has(id) || sessions.has(ancestorTask(id) ?? id);
        if (!isListed && clock.now() - heardAt >= PATIENCE_MS) onEnded(id);
      }
    },
    /** True while the end of the task's turn is not its last: a descendant works, or is about to be reported to it. */
    isUnderWay: (taskId: string): boolean => {
      for (const [id, subagent] of subagents) if (!isAlive(subagent)) subagents.delete(id);
      return (
        [...busy.keys()].some((id) => id !== taskId && countsFor(id, taskId)) ||
        [...subagents.values()].some(({ callerID }) => countsFor(callerID, taskId))
      );
    },
  };
};

/** Number of sessions whose newest message is remembered, those that spoke last: about 200 kB. */
const MAX_REMEMBERED = 1_000;

/**
 * Creates an empty record of which turn a message of an agent belongs to. A turn is all that answers one user message, and is
 * named after it.
 */
export const createTurns = (host: Pick<Host, "message">, log: Log) => {
  /** The newest message of each session's agent, and the user message that it answers. */
  const newest = new Map<string, { messageID: string; turn: string }>();

  /** All launches of one message share a call. */
  const ask = shareCalls(async (key): Promise<string | undefined> => {
    const [sessionID = "", messageID = ""] = key.split("/");
    try {
      const message = await host.message(sessionID, messageID);
      return message.ok ? message.value.promptID : undefined;
    } catch (error) {
      // A launch does not fail for want of the name of its batch.
      log.error("it is not known in which turn a task is launched", {
        sessionID,
        messageID,
        reason: errorMessage(error),
      });
      return undefined;
    }
  });

  /**
   * Returns the user message that the agent's message answers. The host's events show it before the agent's tools are
   * called; where they have not, the host is asked. Undefined where it does not say either.
   */
  const turnOf = async (sessionID: string, messageID: string): Promise<string | undefined> => {
    const known = newest.get(sessionID);
    if (known?.messageID === messageID) return known.turn;
    return ask(`${sessionID}/${messageID}`);
  };

  return {
    onHostEvent: (event: HostEvent) => {
      if (event.type === "deleted") newest.delete(event.sessionID);
      if (event.type !== "message" || event.message.promptID === undefined) return;
      const { id: messageID, promptID: turn } = event.message;
      remember(newest, event.sessionID, { messageID, turn }, MAX_REMEMBERED);
    },
    turnOf,
    /** Names the batch of all tasks that are launched in one turn. A message of which no turn is known counts as one. */
    batchOf: async (sessionID: string, messageID: string): Promise<string> => {
      const turn = (await turnOf(sessionID, messageID)) ?? messageID;
      return turn.replace("msg_", "batch_");
    },
  };
};
