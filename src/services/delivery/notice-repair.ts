import type { NoticePart, NoticePrompt } from "../../machines/outbox/events.ts";
import type { ModelMessage } from "../host/messages.ts";

/**
 * Prompts to parents that may still be shown in part.
 *
 * The host stores a message first and its parts one by one after it. A parent that is busy reads its messages at every
 * step, so its model can be shown a notice with some parts missing; it answers that, and the rest is never shown until
 * somebody else wakes it. So whatever goes to a model is looked through, and what is missing is put in.
 */
export interface NoticeRepair {
  expect(parentSessionID: string, prompt: NoticePrompt): void;
  /** Puts missing parts into the messages, in place, as the host wants it. Returns how many there were. */
  addMissingParts(messages: ModelMessage[]): number;
  forget(parentSessionID: string): void;
}

const toPart = ({ info: { id, sessionID } }: ModelMessage, part: NoticePart) => ({
  ...part,
  type: "text",
  sessionID,
  messageID: id,
});

/** Expects nothing yet. */
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
        const there = new Set(message.parts.map(({ id }) => id));
        const missing = prompt.parts.filter(({ id }) => !there.has(id));
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
