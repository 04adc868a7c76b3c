import written from "./rare-schedules.json" with { type: "json" };
import type { Schedule } from "./schedule.ts";

/** A schedule, and the situations for which it is kept: those that are drawn hardly ever come to them. */
export interface RareSchedule {
  comesTo: string[];
  schedule: Schedule;
}

/** What `npm run chaos -- --reach` found, and writes. */
export interface RareSchedules {
  /** Situations that no schedule has come to. The tests of the charts and the explorations come to them. */
  unreached: string[];
  kept: RareSchedule[];
}

export const { unreached, kept } = written as RareSchedules;

/** Returns the text of the file: a schedule on each line. */
export const printRare = ({ unreached, kept }: RareSchedules): string => {
  const lines = (items: readonly unknown[]): string => items.map((item) => `\n${JSON.stringify(item)}`).join(",");
  return `{"unreached":[${lines(unreached)}],\n"kept":[${lines(kept)}]}\n`;
};
