import { checkJournal } from "../../src/services/promises/check-journal.ts";
import type { RecordedJournal } from "../../src/services/promises/exported-journal.ts";

/** Returns what a journal breaks of all that is promised of journals, in words. Promises with these names are not looked at. */
export const brokenPromises = (journal: RecordedJournal, besides: readonly string[] = []): string[] => {
  const checked = checkJournal(journal);
  if (!checked) return [`the journal of ${journal.taskId} does not begin at the launch`];
  const story = journal.events.map(({ type }, index) => `${index + 1} ${type}`).join(", ");
  const looked = checked.filter(({ name }) => !besides.includes(name));
  return looked.flatMap(({ name, breaches }) =>
    breaches.map(
      ({ event, what }) =>
        `the journal of ${journal.taskId} breaks ${name}: ${event === undefined ? "the snapshot: " : `event ${event} `}${what}, in: ${story}`,
    ),
  );
};
