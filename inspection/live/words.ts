import type { InspectedActor } from "../../src/services/inspection/protocol.ts";

/** Characters of an id that are shown: its end, since ids of one hour begin alike. */
const SHOWN = 6;

const short = (id: string): string => (id.length > SHOWN + 2 ? `…${id.slice(-SHOWN)}` : id);

/** An actor in a word or two. */
export const nameOf = ({ kind, id }: Pick<InspectedActor, "kind" | "id">): string =>
  kind === "supervisor" ? kind : `${kind} ${short(id)}`;

/** The last part of a path. */
export const lastOf = (path: string, separator: string): string => path.slice(path.lastIndexOf(separator) + 1);

/** Where a state's region is, and where in it: `run`, `stopping.aborting`. */
export const regionOf = (path: string): { region: string; state: string } => {
  const dot = path.indexOf(".");
  return dot < 0 ? { region: "", state: path } : { region: path.slice(0, dot), state: path.slice(dot + 1) };
};

/** What is not worth a word where others are: a region at rest. */
const QUIET: ReadonlySet<string> = new Set(["run.idle", "notice.none", "attention.none", "parent.open"]);

/** Those of the states that say something; all, if none does. */
export const telling = (states: string[]): string[] => {
  const loud = states.filter((state) => !QUIET.has(state));
  return loud.length > 0 ? loud : states;
};

/** A state in a word or two: its own name, with its region's where that alone says little. */
export const stateName = (path: string): string => {
  const { region, state } = regionOf(path);
  return region === "notice" || QUIET.has(path) ? `${region} ${state}` : lastOf(state, ".");
};

const two = (value: number): string => String(value).padStart(2, "0");

/** A time of day, to the millisecond. */
export const timeOf = (at: number): string => {
  const time = new Date(at);
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map(two).join(":");
  return `${clock}.${String(time.getMilliseconds()).padStart(3, "0")}`;
};

/** How an actor fares, in one word that colours it. */
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
