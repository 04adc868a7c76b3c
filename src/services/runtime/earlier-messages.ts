// ADR-278 in docs/decisions.md
import type { MessageInfo } from "../../machines/host-events.ts";

/**
 * Creates what knows the messages that were there before the clock was set back. Those seemed to be of the future when they
 * were read, and stay older than all that came after them when the clock has caught up.
 * @returns a function that takes messages, and when they were read (epoch milliseconds), and returns the ids of all such ones
 */
export const createEarlierMessages = () => {
  const known = new Set<string>();
  return (messages: readonly Pick<MessageInfo, "id" | "createdAt">[], readAt: number): ReadonlySet<string> => {
    for (const { id, createdAt } of messages) if (createdAt > readAt) known.add(id);
    return known;
  };
};
