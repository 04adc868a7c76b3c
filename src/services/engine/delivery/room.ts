import type { HostSession } from "../../../machines/host-events.ts";
import { NEWEST_MESSAGES } from "../../runtime/run-outcome.ts";
import type { EngineContext } from "../context.ts";

/** Tokens for which a model is taken to have room of which that is not known: half of a small window. */
const UNKNOWN_ROOM = 16_000;

/** Tokens that OpenCode keeps free for an answer at most (1.18.33). */
const MOST_FOR_ANSWER = 32_000;

/**
 * Estimates for how many tokens the model of a session has room: its window, less what the conversation fills of it, as
 * counted at its newest answer, and less the answer to come. What was said since then does not count: only a part of the room
 * is to be used.
 */
export const roomIn = async (
  { host, reads }: Pick<EngineContext, "host" | "reads">,
  { id, model }: HostSession,
): Promise<number> => {
  const [models, newest] = await Promise.all([reads.models(), host.messages(id, NEWEST_MESSAGES)]);
  const limits = models.ok
    ? models.value.find(({ providerID, modelID }) => providerID === model?.providerID && modelID === model.modelID)
        ?.limits
    : undefined;
  const filled = newest.ok ? newest.value.findLast(({ conversationTokens }) => conversationTokens) : undefined;
  if (!limits) return UNKNOWN_ROOM;
  if (!filled?.conversationTokens) return Math.min(UNKNOWN_ROOM, limits.context / 2);
  return Math.max(0, limits.context - filled.conversationTokens - Math.min(limits.output, MOST_FOR_ANSWER));
};
