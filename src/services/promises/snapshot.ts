import { isLive } from "./account.ts";
import { followInstructions } from "./instructions.ts";
import { at, type Breach, inSnapshot, type JournalPromise } from "./promise.ts";

const statusAgrees: JournalPromise = {
  name: "status-agrees",
  says: "The stored status is that of the newest run: under way until something ended it, and ended from then on.",
  breaches: ({ newest, journal }) => {
    const { lifecycle, run } = journal.snapshot.value;
    const { index, ending } = newest;
    if (isLive(lifecycle)) {
      if (ending) return [at(ending, `ends run ${index}, which is stored as ${lifecycle}`)];
      const expected = index === 0 ? "running" : "resumed";
      return lifecycle === expected ? [] : [inSnapshot(`run ${index} is under way, and stored as ${lifecycle}`)];
    }
    if (!ending) return [inSnapshot(`run ${index} is stored as ${lifecycle}, and nothing ended it`)];
    return run === "idle" ? [] : [inSnapshot(`run ${index} is stored as ${lifecycle}, and as one that is under way`)];
  },
};

const countsAgree: JournalPromise = {
  name: "counts-agree",
  says: "The stored run is the newest one, and has the number, the prompt and the instructions that the journal gives it.",
  breaches: ({ newest, journal }): Breach[] => {
    const { run, instructions = [] } = journal.snapshot.context;
    const { messageID } = newest.began?.event ?? journal.origin.run;
    const startedAt = newest.began?.event.at ?? journal.origin.run.startedAt;
    const followed = followInstructions(newest);
    for (const step of newest.steps) followed.take(step);
    const [given, stored] = [followed.pending().join(", "), instructions.map((each) => each.messageID).join(", ")];
    return [
      ...(run.index === newest.index
        ? []
        : [inSnapshot(`run ${newest.index} is the newest, and run ${run.index} is stored`)]),
      ...(run.messageID === messageID
        ? []
        : [inSnapshot(`the prompt is ${messageID}, and ${run.messageID} is stored`)]),
      ...(run.startedAt === startedAt ? [] : [inSnapshot("the newest run is stored with another beginning")]),
      ...(given === stored ? [] : [inSnapshot(`the instructions "${given}" wait, and "${stored}" are stored`)]),
    ];
  },
};

export const SNAPSHOT: readonly JournalPromise[] = [statusAgrees, countsAgree];
