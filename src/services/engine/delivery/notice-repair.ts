import type { Prompt } from "../../../machines/task/events.ts";
import type { ModelMessage } from "../../host/host.ts";

/** The parts of a message that is about to be stored. */
type ExpectedMessage = Pick<Prompt, "messageID" | "parts">;

const toPart = ({ info: { id, sessionID } }: ModelMessage, part: Prompt["parts"][number]) => ({
  ...part,
  type: "text",
  sessionID,
  messageID: id,
});

/**
 * Creates what completes notices, and instructions for a child at work, that are only partly stored when they are sent to a
 * model.
 *
 * The host stores a message first and then its parts, one by one. A busy parent reads its messages at every step, so its
 * model can receive a notice with parts missing. It would answer that, and the missing results would not be read until
 * something else starts a turn. So every request to a model is checked, and the missing parts are added.
 */
export const createNoticeRepair = () => {
  const expected = new Map<string, ExpectedMessage[]>();
  return {
    /** Registers a message that is about to be sent. It is checked until a model was once sent all of its parts. */
    expect: (sessionID: string, message: ExpectedMessage) => {
      const others = (expected.get(sessionID) ?? []).filter(({ messageID }) => messageID !== message.messageID);
      expected.set(sessionID, [...others, message]);
    },
    /** Adds missing parts to the messages of a model request, in place. Returns how many. */
    addMissingParts: (messages: ModelMessage[]): number => {
      const sessionID = messages.at(-1)?.info.sessionID;
      const prompts = sessionID === undefined ? undefined : expected.get(sessionID);
      if (sessionID === undefined || !prompts) return 0;
      let added = 0;
      const incomplete = prompts.filter((prompt) => {
        const message = messages.findLast(({ info }) => info.id === prompt.messageID);
        if (!message) return true;
        const stored = new Set(message.parts.map(({ id }) => id));
        const missing = prompt.parts.filter(({ id }) => !stored.has(id));
        message.parts.push(...missing.map((part) => toPart(message, part)));
        message.parts.sort((a, b) => (a.id < b.id ? -1 : 1));
        added += missing.length;
        return missing.length > 0;
      });
      if (incomplete.length > 0) expected.set(sessionID, incomplete);
      else expected.delete(sessionID);
      return added;
    },
    /** Checks nothing more for a session. */
    forget: (sessionID: string) => {
      expected.delete(sessionID);
    },
  };
};
