// What shows that a model is in a loop: one tool call again and again, or steps without a call and without an end.
import type { HostEvent, MessageInfo } from "../../../machines/host-events.ts";
import { isWithoutCall, STEPS_WITHOUT_END } from "../../runtime/run-outcome.ts";

/** How often in a row a session's model has called one tool with the same arguments. */
export interface RepeatedCall {
  tool: string;
  times: number;
}

interface Calls extends RepeatedCall {
  /** Tool and arguments of the newest call. */
  newest: string;
  /** Calls that are counted already: the host reports each more than once, and calls of one step overlap. */
  counted: Set<string>;
  running: Set<string>;
}

/**
 * Creates a log of what the tool calls of child sessions show: whether the model is in a loop, and whether a tool runs.
 * What it knows is lost when the process ends: then counting begins anew.
 * @param readingTools only read tasks: an agent that calls one with the same arguments until they end is in no loop
 */
export const createToolCallLog = (readingTools: readonly string[]) => {
  const bySession = new Map<string, Calls>();

  const callsOf = (sessionID: string): Calls => {
    const known = bySession.get(sessionID);
    if (known) return known;
    const calls = { tool: "", times: 0, newest: "", counted: new Set<string>(), running: new Set<string>() };
    bySession.set(sessionID, calls);
    return calls;
  };

  return {
    /** Handles an event of a child session. Returns the calls in a row that the newest one ends, if the event begins one. */
    onHostEvent: (event: HostEvent): RepeatedCall | undefined => {
      // A call whose end was not reported does not run in a session that is idle.
      if (event.type === "idle") bySession.get(event.sessionID)?.running.clear();
      // Without arguments, the model is still writing them.
      if (event.type !== "toolCall" || event.input === undefined) return undefined;
      const { sessionID, callID, tool, input, stage } = event;
      const calls = callsOf(sessionID);
      if (stage === "begun") calls.running.add(callID);
      else calls.running.delete(callID);
      if (readingTools.includes(tool) || calls.counted.has(callID)) return undefined;
      calls.counted.add(callID);
      const call = `${tool} ${input}`;
      calls.times = call === calls.newest ? calls.times + 1 : 1;
      calls.tool = tool;
      calls.newest = call;
      return { tool, times: calls.times };
    },
    /** True while a tool visibly runs in the session. */
    isToolRunning: (sessionID: string): boolean => (bySession.get(sessionID)?.running.size ?? 0) > 0,
    forget: (sessionID: string) => {
      bySession.delete(sessionID);
    },
  };
};

export type ToolCallLog = ReturnType<typeof createToolCallLog>;

/** The steps of a turn, as far as they count. */
interface Turn {
  /** What the turn answers. */
  promptID: string | undefined;
  /** The newest step that is counted: the host reports each more than once. */
  counted: string | undefined;
  /** True once the step under way has called a tool. */
  callsTools: boolean;
  /** Steps in a row without a tool call. */
  steps: number;
}

/**
 * Creates a detector of turns that would never end: the host asks their model again and again, for the provider does not say
 * why it stopped, or because the clock was set back, after which the host takes an older message for the newest one. What it
 * knows is lost when the process ends.
 */
export const createEndlessSteps = () => {
  const turns = new Map<string, Turn>();

  const turnOf = (sessionID: string, { promptID }: Pick<MessageInfo, "promptID">): Turn => {
    const known = turns.get(sessionID);
    if (known && known.promptID === promptID) return known;
    const turn = { promptID, counted: undefined, callsTools: false, steps: 0 };
    turns.set(sessionID, turn);
    return turn;
  };

  const onStep = (sessionID: string, message: MessageInfo): boolean => {
    const turn = turnOf(sessionID, message);
    if (message.completedAt === undefined || turn.counted === message.id) return false;
    const isEndless = !turn.callsTools && isWithoutCall(message);
    turn.counted = message.id;
    turn.steps = isEndless ? turn.steps + 1 : 0;
    turn.callsTools = false;
    return turn.steps >= STEPS_WITHOUT_END;
  };

  return {
    /** Handles an event of a session. Returns true with each step of a turn that has taken too many without an end. */
    onHostEvent: (event: HostEvent): boolean => {
      const { sessionID } = event;
      if (event.type === "idle" || event.type === "deleted") turns.delete(sessionID);
      if (event.type === "toolCall") {
        const turn = turns.get(sessionID);
        if (turn) turn.callsTools = true;
      }
      return event.type === "message" && event.message.role === "assistant" && onStep(sessionID, event.message);
    },
  };
};
