import { test } from "vitest";
import { createDisk } from "../fakes/disk.ts";
import { createStage, type Stage, type StageOptions } from "../fakes/stage.ts";

/** The three specifications of one tool contract, each with the prefix that it names the tools by. */
const PREFIXES = {
  "asyncagents-task": "asyncagents",
  "superagents-task": "superagents",
  "background-task": "background",
} as const;

type Specification = keyof typeof PREFIXES;

export const ALL: readonly Specification[] = ["asyncagents-task", "superagents-task", "background-task"];
/** The oldest of the line says nothing of how a notice reads. */
export const WITH_NOTICES: readonly Specification[] = ["asyncagents-task", "superagents-task"];

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
