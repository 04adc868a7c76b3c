// ADR-014 in docs/decisions.md
import type { NoticePart, NoticePrompt } from "../../machines/outbox/events.ts";
import type { ModelMessage } from "../host/messages.ts";

/**
 * Completes notices that are only partly stored when they are sent to the parent's model.
 *
 * The host stores a message first and then its parts, one by one. A busy parent reads its messages at every step, so its
 * model can receive a notice with parts missing. It would answer that, and the missing results would not be read until
 * something else starts a turn. So every request to a model is checked, and the missing parts are added.
 */
export interface NoticeRepair {
  /** Registers a notice that is about to be sent. It is checked until a model was once sent all of its parts. */
  expect(parentSessionID: string, prompt: NoticePrompt): void;
  /** Adds missing parts to the messages in place, as the host requires. Returns the number of parts added. */
  addMissingParts(messages: ModelMessage[]): number;
  /** Stops checking the requests of a session. */
  forget(parentSessionID: string): void;
}

const toPart = ({ info: { id, sessionID } }: ModelMessage, part: NoticePart) => ({
  ...part,
  type: "text",
  sessionID,
  messageID: id,
});

/** Creates the registry of notices that may be stored only in part. */
export const createNoticeRepair = (): NoticeRepair => {
  const expected = new Map<string, NoticePrompt[]>();
  return {
    expect: (parentSessionID, prompt) => {
      expected.set(parentSessionID, [...(expected.get(parentSessionID) ?? []), prompt]);
    },
    addMissingParts: (messages) => {
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
    forget: (parentSessionID) => {
      expected.delete(parentSessionID);
    },
  };
};
