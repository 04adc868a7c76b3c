// ADR-276 in docs/decisions.md
import { readJournal } from "./account.ts";
import { DELIVERY } from "./delivery.ts";
import type { RecordedJournal } from "./exported-journal.ts";
import { FLEET } from "./fleet.ts";
import { INSTRUCTIONS } from "./instructions.ts";
import { ORDER } from "./order.ts";
import type { Breach, JournalPromise } from "./promise.ts";
import { REQUESTS } from "./requests.ts";
import { RUNS } from "./runs.ts";
import { SNAPSHOT } from "./snapshot.ts";
import { TRIED } from "./tries.ts";
import { WORK } from "./work.ts";

/** All that is promised of a journal, in the order in which it is shown. */
export const JOURNAL_PROMISES: readonly JournalPromise[] = [
  ...ORDER,
  ...WORK,
  ...INSTRUCTIONS,
  ...REQUESTS,
  ...RUNS,
  ...TRIED,
  ...DELIVERY,
  ...FLEET,
  ...SNAPSHOT,
];

/** A promise, and where a journal breaks it. */
export interface CheckedPromise extends Pick<JournalPromise, "name" | "says"> {
  breaches: Breach[];
}

/**
 * Holds a journal against all that is promised of one. It knows nothing of the chart that accepted the events: so a fault of
 * the chart shows, which a replay by the same chart repeats. Undefined for a journal that does not begin at the launch.
 */
export const checkJournal = ({ origin, ...rest }: RecordedJournal): CheckedPromise[] | undefined => {
  if (!origin) return undefined;
  const account = readJournal({ ...rest, origin });
  return JOURNAL_PROMISES.map(({ name, says, breaches }) => ({ name, says, breaches: breaches(account) }));
};
