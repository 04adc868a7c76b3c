import { useState } from "preact/hooks";
import { taskEventDescriptions } from "../../src/machines/task/events.ts";
import { type JournalEvent, readJournal } from "../api.ts";
import { duration, time } from "../format.ts";
import { useLoaded } from "../hooks.ts";

/** Events that are shown until a person asks for all: a long task has thousands. */
const SHOWN_EVENTS = 200;

/** Milliseconds between events that are worth being seen as a gap. */
const GAP_MS = 1_000;

const descriptionOf = (type: string): string => (taskEventDescriptions as Readonly<Record<string, string>>)[type] ?? "";

const Event = ({ event, gap, since }: { event: JournalEvent; gap: number; since: number }) => {
  const { type, at, ...fields } = event;
  const hasFields = Object.keys(fields).length > 0;
  return (
    <li>
      <span class="at">
        <time dateTime={new Date(at).toISOString()} title={new Date(at).toISOString()}>
          {time(at)}
        </time>
        <span class="since">+{duration(since)}</span>
      </span>
      <span class={gap >= GAP_MS ? "event after-gap" : "event"}>
        {gap >= GAP_MS && <span class="gap">{duration(gap)} later</span>}
        <code>{type}</code>
        <span class="meaning">{descriptionOf(type)}</span>
        {hasFields && (
          <details>
            <summary>With</summary>
            <pre>{JSON.stringify(fields, undefined, 2)}</pre>
          </details>
        )}
      </span>
    </li>
  );
};

/** The journal of a task: every event that its chart accepted, and what each means. */
export const Timeline = ({ id, version }: { id: string; version: number }) => {
  const { value: journal, problem } = useLoaded((signal) => readJournal(id, signal), id, version);
  const [isWhole, setWhole] = useState(false);
  if (problem !== undefined) return <p class="problem">The journal could not be read: {problem}</p>;
  if (!journal) return <p class="soft">Loading …</p>;
  const hidden = isWhole ? 0 : Math.max(0, journal.length - SHOWN_EVENTS);
  const begin = journal[0]?.at ?? 0;
  return (
    <>
      {hidden > 0 && (
        <button type="button" class="more" onClick={() => setWhole(true)}>
          Show {hidden} earlier events
        </button>
      )}
      <ol class="timeline" aria-label="Journal, oldest first">
        {journal.slice(hidden).map((event, index) => (
          <Event
            key={hidden + index}
            event={event}
            gap={event.at - (journal[hidden + index - 1]?.at ?? event.at)}
            since={event.at - begin}
          />
        ))}
      </ol>
    </>
  );
};
