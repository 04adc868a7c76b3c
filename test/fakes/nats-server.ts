import { beforeAll, describe } from "vitest";
import { executable, MISSING } from "./nats-process.ts";

export { type NatsServer, type NatsSetting, startNats } from "./nats-process.ts";

/** Groups tests that need nats-server. Without it they are skipped with a warning; in CI they fail. */
export const describeWithNats = (name: string, tests: () => void): void => {
  if (executable) return void describe(name, tests);
  if (!process.env.CI) {
    console.warn(`Skipped: ${name}. ${MISSING}`);
    return void describe.skip(`${name} (${MISSING})`, tests);
  }
  describe(name, () => {
    beforeAll(() => {
      throw new Error(MISSING);
    });
    tests();
  });
};
