import { checkJournal } from "../../src/services/promises/check-journal.ts";
import type { RecordedJournal } from "../../src/services/promises/exported-journal.ts";

/** Returns what a journal breaks of all that is promised of journals, in words. */
export const brokenPromises = (journal: RecordedJournal): string[] => {
  const checked = checkJournal(journal);
  if (!checked) return [`the journal of ${journal.taskId} does not begin at the launch`];
  const story = journal.events.map(({ type }, index) => `${index + 1} ${type}`).join(", ");
  return checked.flatMap(({ name, breaches }) =>
    breaches.map(
      ({ event, what }) =>
        `the journal of ${journal.taskId} breaks ${name}: ${event === undefined ? "the snapshot: " : `event ${event} `}${what}, in: ${story}`,
    ),
  );
};
