// What is of the future was there before: docs/decisions/278-other-machines-clocks-say-nothing.md.
import type { MessageInfo } from "../../machines/host-events.ts";

/**
 * Creates a memory of the messages that are older than a clock that was set back: when they were read, their times were in the
 * future. They stay older than all later messages, also once the clock has caught up.
 * @returns a function that takes messages, and when they were read (epoch milliseconds), and returns the ids of all older ones
 */
export const createEarlierMessages = () => {
  const known = new Set<string>();
  return (messages: readonly Pick<MessageInfo, "id" | "createdAt">[], readAt: number): ReadonlySet<string> => {
    for (const { id, createdAt } of messages) if (createdAt > readAt) known.add(id);
    return known;
  };
};
