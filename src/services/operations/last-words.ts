import type { Host } from "../host/host.ts";
import type { Clock } from "../platform/clock.ts";

/** Messages, the newest, among which the words are looked for: an agent may call tools for long without any. */
const NEWEST = 50;

/**
 * Milliseconds that the host may take. A tool that waited answers with these words, and counts as one whose answer is lost
 * after ten seconds: words that come late are not worth a second telling.
 */
const WITHIN = 5_000;

/**
 * What an agent said last in a session, finished or not: of a run that failed, no result is stored. Undefined where it
 * said nothing, or the host does not say in time.
 */
export const createLastWords =
  (host: Host, clock: Clock) =>
  (sessionID: string): Promise<string | undefined> =>
    new Promise((resolve, reject) => {
      const callOff = clock.after(WITHIN, () => resolve(undefined));
      const read = async () => {
        const messages = await host.messages(sessionID, NEWEST);
        const spoken = messages.ok ? messages.value : [];
        return spoken.findLast(({ role, isSummary, text }) => role === "assistant" && !isSummary && text.trim() !== "")
          ?.text;
      };
      read().then(resolve, reject).finally(callOff);
    });
