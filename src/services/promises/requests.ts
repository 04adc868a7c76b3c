import type { Account, Run, Step } from "./account.ts";
import { at, type Breach, inSnapshot, type JournalPromise } from "./promise.ts";

/** What else ends a request than its answer: the process that heard it has ended, or the server that worked on the run. */
const FORGETS = new Set(["ADOPTED", "REMOTE_CLAIMED", "REMOTE_LOST", "CLOSED"]);

/** Follows the requests of a run, and returns those that are open at its end, and what is wrong. */
const followRequests = ({ steps, ending, index }: Run): { open: string[]; breaches: Breach[] } => {
  const breaches: Breach[] = [];
  /** Those that were asked and not answered, and among them those that count no more. */
  const asked = new Map<string, Step>();
  const forgotten = new Set<string>();
  const ask = (step: Step, id: string) => {
    const before = asked.get(id);
    if (before && !forgotten.has(id)) breaches.push(at(step, `asks ${id}, which event ${before.number} had asked`));
    asked.set(id, step);
    forgotten.delete(id);
  };
  for (const step of steps) {
    const { type, request, id = "" } = step.event;
    if (FORGETS.has(type)) for (const each of asked.keys()) forgotten.add(each);
    if (type === "REQUEST_ASKED" && request) ask(step, request.id);
    if (type === "REQUEST_ANSWERED" && !asked.delete(id))
      breaches.push(at(step, `answers ${id}, which run ${index} does not ask`));
  }
  return { breaches, open: ending ? [] : [...asked.keys()].filter((id) => !forgotten.has(id)) };
};

const requestsAnsweredOnce: JournalPromise = {
  name: "requests-answered-once",
  says: "A request is asked once and answered once, and the snapshot has those that are open.",
  breaches: ({ runs, newest, journal }: Account) => {
    const found = runs.map(followRequests);
    const { open } = followRequests(newest);
    const stored = journal.snapshot.context.userRequests.map(({ id }) => id);
    // A server of the fleet that has lost the run may be heard of once more.
    const isSame = journal.origin.facts.fleet !== undefined || open.join() === stored.join();
    return [
      ...found.flatMap(({ breaches }) => breaches),
      ...(isSame ? [] : [inSnapshot(`open are "${open.join(", ")}", and stored are "${stored.join(", ")}"`)]),
    ];
  },
};

export const REQUESTS: readonly JournalPromise[] = [requestsAnsweredOnce];
