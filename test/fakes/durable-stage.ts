import { onTestFinished } from "vitest";
import { createDisk, type Disk } from "./disk.ts";
import { createStage, type Stage, type StageOptions } from "./stage.ts";

/** Creates a database file that is removed when the test that runs has finished. */
export const diskOfTest = (): Disk => {
  const disk = createDisk();
  onTestFinished(() => disk.remove());
  return disk;
};

/** A stage whose tasks are in a file, so that its next process finds them. */
export const createDurableStage = (options: StageOptions = {}): Stage & { disk: Disk } => {
  const disk = diskOfTest();
  const stage = createStage({ openStore: disk.boot, ...options });
  // The stage's engine and store are those of its newest process.
  return Object.defineProperties({ disk }, Object.getOwnPropertyDescriptors(stage)) as Stage & { disk: Disk };
};

/** The same with one task at work. */
export const durableStageWithTask = async (options?: StageOptions) => {
  const stage = createDurableStage(options);
  return { stage, id: await stage.launch() };
};
