import { backoff } from "../../../machines/backoff.ts";
import { LOOK_BACKOFF } from "../../../machines/outbox/setup.ts";
import type { Prompt } from "../../../machines/task/events.ts";
import { isDeleted, whySetAside } from "../../host/sessions.ts";
import type { OwnText } from "../../text/own-text.ts";
import type { EngineContext } from "../context.ts";

/**
 * A message for a conversation: `synthetic` for its model only, `ignored` for people only. It starts no turn, but for one
 * that has the model say something to the person (`wakes`), where nothing else would be seen.
 */
export type SessionNote = { text: OwnText; synthetic: true; wakes?: true } | { text: OwnText; ignored: true };

/** Milliseconds until the next attempt if the session does not become idle before, or the host fails. */
const RETRY_MS = 5_000;

/**
 * Creates the posting of notes to conversations, which start no turn as a rule. A busy session would start a turn to answer a
 * note (measured: four times in five), so each note is stored only when its session is idle and no prompt of the plugin is on
 * its way there.
 */
export const createSessionNotes = ({ host, sessionWaits, ids, log, runtime }: EngineContext) => {
  let stopped = false;

  /** True while a prompt of the plugin is on its way to the session. */
  const isPrompted = (sessionID: string) => runtime.pendingPrompt(sessionID) !== undefined;

  return {
    /**
     * Posts a note as soon as the session is idle. Resolves to true once it is stored, or to false when it is no longer
     * wanted, the session is deleted, the host refuses the note, or this process stops.
     * @param write returns the note when the time has come; undefined when it is no longer wanted
     */
    postWhenIdle: async (sessionID: string, write: () => SessionNote | undefined): Promise<boolean> => {
      let message: Pick<Prompt, "messageID" | "parts"> | undefined;
      let wasMissing = false;
      let looks = 0;
      while (!stopped && write() !== undefined) {
        const [busy, session] = await Promise.all([host.busy(), host.session(sessionID)]);
        const isMissing = !session.ok && session.failure.kind === "notFound";
        if (isMissing && wasMissing) {
          const deleted = await isDeleted(host, sessionID);
          if (deleted.ok && deleted.value) return false;
        }
        wasMissing = isMissing;
        const setAside = session.ok ? await whySetAside(host, session.value) : undefined;
        const mayBeSent = setAside?.ok === true && setAside.value === undefined;
        looks = setAside?.ok && setAside.value !== undefined ? looks + 1 : 0;
        const note = write();
        if (stopped || note === undefined) return false;
        if (busy.ok && session.ok && mayBeSent && !busy.value.has(sessionID) && !isPrompted(sessionID)) {
          const { wakes, ...part } = { wakes: false, ...note };
          message ??= { messageID: ids.message(), parts: ids.parts(1).map((id) => ({ id, ...part })) };
          const { agent, model } = session.value;
          const stored = await host.prompt({
            sessionID,
            ...message,
            agent,
            model,
            ...(wakes ? {} : { noReply: true }),
          });
          if (stored.ok) return true;
          log.error("could not post a note to a session", { sessionID, reason: stored.failure.message });
          if (stored.failure.kind === "refused" || stopped) return false;
        }
        if (looks === 0) await sessionWaits.until(sessionID, "idle", RETRY_MS);
        else await sessionWaits.until(sessionID, "change", backoff(looks, LOOK_BACKOFF));
      }
      return false;
    },
    /** Gives up all notes that are not stored yet. */
    stop: () => {
      stopped = true;
    },
  };
};

export type SessionNotes = ReturnType<typeof createSessionNotes>;
