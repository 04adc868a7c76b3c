import type { Ids } from "../../src/services/platform/ids.ts";

/** Creates ascending ids that are the same each time a schedule is run. */
export const createPlainIds = (): Ids => {
  let count = 0;
  const next = (kind: string) => {
    count += 1;
    return `${kind}_${String(count).padStart(8, "0")}`;
  };
  return {
    message: () => next("msg"),
    parts: (wanted) => {
      const stem = next("prt");
      return Array.from({ length: wanted }, (_, index) => `${stem}${String(index).padStart(4, "0")}`);
    },
  };
};
