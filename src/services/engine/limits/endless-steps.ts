import type { HostEvent, MessageInfo } from "../../../machines/host-events.ts";
import { isWithoutCall, STEPS_WITHOUT_END } from "../../runtime/run-outcome.ts";

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
 * Creates what sees turns that would never end: the host asks their model again and again, for the provider does not say why it
 * stopped, or because the clock was set back, after which the host takes an older message for the newest one. What it knows is
 * lost when the process ends.
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
    /** Takes an event of a session. Returns true with each step of a turn that has taken too many without an end. */
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
