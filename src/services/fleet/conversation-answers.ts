import type { Host, HostResult } from "../host/host.ts";
import type { Log } from "../platform/log.ts";
import type { Store } from "../store/store.ts";
import { passageOf } from "../text/transcript.ts";
import type { AnsweringDeps } from "./answering.ts";
import { passageToSend } from "./conversations.ts";
import { VERSION } from "./messages.ts";
import { messagesToSend } from "./raw-messages.ts";
import { findTaskFor } from "./workplace.ts";

/** Where the conversations of this server's tasks are read. */
export interface ConversationSource {
  host: Pick<Host, "conversation" | "rawMessages">;
  store: Pick<Store, "get" | "list">;
  log: Log;
}

/** Creates what answers the homes of tasks what was said in them here. */
export const createConversationAnswers = ({
  host,
  store,
  log,
}: ConversationSource): Pick<AnsweringDeps, "conversation" | "messages"> => {
  /** Reads the session of the task that works for another one; undefined where that is not here. */
  const read = async <T>(
    whose: { home: string; task: string },
    from: (sessionID: string) => Promise<HostResult<T>>,
  ): Promise<T | undefined> => {
    const taskId = findTaskFor(store, whose);
    if (taskId === undefined) return undefined;
    const result = await from(taskId);
    if (result.ok) return result.value;
    log.info("a conversation could not be given to another server", { taskId, reason: result.failure.message });
    return undefined;
  };

  return {
    conversation: async ({ options, ...whose }) => {
      const messages = await read(whose, host.conversation);
      if (!messages) return undefined;
      const { sinceMessageId, messageLimit, includeToolResults } = options;
      const passage = passageOf(messages, { sinceMessageId, messageLimit });
      const answer = { v: VERSION, type: "conversation" } as const;
      return passage ? { ...answer, passage: passageToSend(passage, includeToolResults) } : answer;
    },
    messages: async (whose) => {
      const messages = await read(whose, host.rawMessages);
      return messages && { v: VERSION, type: "messages", messages: messagesToSend(messages) };
    },
  };
};
