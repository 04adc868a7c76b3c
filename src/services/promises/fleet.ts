import type { RecordedEvent } from "./exported-journal.ts";
import { at, type Breach, type JournalPromise } from "./promise.ts";

type Claim = NonNullable<RecordedEvent["claim"]>;

const isSame = (one: Claim | undefined, other: Claim | undefined): boolean =>
  one !== undefined && one.epoch === other?.epoch && one.seq === other.seq;

const isNewer = (claim: Claim, than: Claim): boolean =>
  claim.epoch > than.epoch || (claim.epoch === than.epoch && claim.seq > than.seq);

const newestClaimCounts: JournalPromise = {
  name: "newest-claim-counts",
  says: "Of the servers of a fleet, only the one that claimed a run last says how it ended.",
  breaches: ({ runs }) =>
    runs.flatMap(({ steps, index }) => {
      let newest: Claim | undefined;
      return steps.flatMap((step): Breach[] => {
        const { type, claim, isNewestForgotten } = step.event;
        if (type === "REMOTE_CLAIMED" && claim) {
          const isOld = newest !== undefined && isNewestForgotten !== true && !isNewer(claim, newest);
          newest = claim;
          return isOld ? [at(step, `claims run ${index} by an older claim than the one that it has`)] : [];
        }
        const isOfClaim = type === "REMOTE_ENDED" || type === "REMOTE_HELD";
        return isOfClaim && !isSame(claim, newest) ? [at(step, `is of a server that has not run ${index}`)] : [];
      });
    }),
};

const oneServer: JournalPromise = {
  name: "one-server",
  says: "A run that a server of the fleet has is not begun here before it is taken back.",
  breaches: ({ runs }) =>
    runs.flatMap(({ steps, index }) => {
      let isElsewhere = false;
      return steps.flatMap((step): Breach[] => {
        const { type } = step.event;
        if (type === "REMOTE_CLAIMED") isElsewhere = true;
        if (type === "CLOSED" || type === "ORDER_REFUSED") isElsewhere = false;
        return type === "SLOT_GRANTED" && isElsewhere
          ? [at(step, `begins run ${index} here, and a server has it`)]
          : [];
      });
    }),
};

export const FLEET: readonly JournalPromise[] = [newestClaimCounts, oneServer];
