import { test } from "vitest";
import { PREFIXES } from "../../scripts/requirements/specifications.ts";
import { createDisk } from "../fakes/disk.ts";
import { createStage, type Stage, type StageOptions } from "../fakes/stage.ts";

type Specification = keyof typeof PREFIXES;

/** One scenario of a requirement, shown under the prefix of each specification that has it. */
export const scenario = (
  specifications: readonly Specification[],
  requirement: string,
  name: string,
  show: (stage: Stage, prefix: string) => Promise<void>,
  { onDisk = false, ...options }: StageOptions & { onDisk?: boolean } = {},
): void => {
  for (const specification of specifications) {
    const prefix = PREFIXES[specification];
    test(`${specification} › ${requirement} › ${name}`, async () => {
      const disk = onDisk ? createDisk() : undefined;
      const stage = createStage({ ...options, ...(disk ? { openStore: disk.boot } : {}), prefix });
      await show(stage, prefix);
      stage.engine.stop();
      disk?.remove();
    });
  }
};
