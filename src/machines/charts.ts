import { outboxMachine } from "./outbox.ts";
import { supervisorMachine } from "./supervisor.ts";
import { taskMachine } from "./task.ts";

/** A chart as JSON: states, transitions, descriptions; guards and actions by their names. */
const toJSON = ({ config }: { config: unknown }): unknown => JSON.parse(JSON.stringify(config));

/** The statecharts by name. */
export const charts = (): Record<string, unknown> => ({
  task: toJSON(taskMachine),
  outbox: toJSON(outboxMachine),
  supervisor: toJSON(supervisorMachine),
});
