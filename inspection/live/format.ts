import type { InspectedActor } from "../../src/services/inspection/protocol.ts";

/** Characters of an id that are shown: the last ones, since ids of the same hour begin alike. */
const ID_CHARS = 6;

const short = (id: string): string => (id.length > ID_CHARS + 2 ? `…${id.slice(-ID_CHARS)}` : id);

/** Returns the short name of an actor. */
export const nameOf = ({ kind, id }: Pick<InspectedActor, "kind" | "id">): string =>
  kind === "supervisor" ? kind : `${kind} ${short(id)}`;

/** Returns the last part of a path. */
export const lastOf = (path: string, separator: string): string => path.slice(path.lastIndexOf(separator) + 1);

/** Splits a state's path into its region and its path within that: `run`, `stopping.aborting`. */
export const regionOf = (path: string): { region: string; state: string } => {
  const dot = path.indexOf(".");
  return dot < 0 ? { region: "", state: path } : { region: path.slice(0, dot), state: path.slice(dot + 1) };
};

/** States of regions at rest, which are left out where there are others. */
const RESTING_STATES: ReadonlySet<string> = new Set([
  "run.idle",
  "steering.none",
  "notice.none",
  "attention.none",
  "parent.open",
]);

/** Returns the states of regions that are not at rest; all states if every region is. */
export const notableStates = (states: string[]): string[] => {
  const notable = states.filter((state) => !RESTING_STATES.has(state));
  return notable.length > 0 ? notable : states;
};

/** Returns the short name of a state, with its region's name where the state's own says little. */
export const stateName = (path: string): string => {
  const { region, state } = regionOf(path);
  return region === "notice" || region === "steering" || RESTING_STATES.has(path)
    ? `${region} ${state}`
    : lastOf(state, ".");
};

const twoDigits = (value: number): string => String(value).padStart(2, "0");

/** Formats a time of day, to the millisecond. */
export const timeOf = (at: number): string => {
  const time = new Date(at);
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map(twoDigits).join(":");
  return `${clock}.${String(time.getMilliseconds()).padStart(3, "0")}`;
};

/** Returns the CSS class that colours an actor by its state. */
export const toneOf = ({ kind, states, gone }: InspectedActor): string => {
  const at = (region: string) => states.find((state) => state.startsWith(`${region}.`)) ?? "";
  if (kind === "task") {
    const status = regionOf(at("lifecycle")).state;
    const asks = !gone && at("attention") !== "attention.none";
    return asks ? "attention" : status;
  }
  if (kind === "supervisor") return gone ? "cancelled" : "plain";
  return at("delivery") === "delivery.idle" || gone ? "plain" : "running";
};
