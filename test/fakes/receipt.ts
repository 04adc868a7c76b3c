import type { Receipt } from "../../src/receipt.ts";

/** The receipt of a run in which nothing was done. */
export const receipt = (given: Partial<Receipt> = {}): Receipt => ({
  run: 0,
  isWhole: true,
  tools: [],
  filesRead: 0,
  files: [],
  otherFiles: [],
  commands: [],
  omitted: { files: 0, otherFiles: 0, commands: 0 },
  tokens: 0,
  cost: 0,
  workedMs: 0,
  waitedMs: 0,
  ...given,
});
