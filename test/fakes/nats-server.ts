import { describeWith } from "./describe-with.ts";
import { executable, MISSING } from "./nats-process.ts";

export { type NatsServer, type NatsSetting, startNats } from "./nats-process.ts";

/** Groups tests that need nats-server. Without it they are skipped with a warning; in CI they fail. */
export const describeWithNats = (name: string, tests: () => void): void =>
  describeWith(executable, MISSING, name, tests);
