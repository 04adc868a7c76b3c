import type { FleetSettings } from "../../services/fleet/nats/set-up.ts";
import { shortTime } from "../../services/text/amounts.ts";
import { CommandError, readDuration } from "../command.ts";

/** The settings of a fleet for which nothing else was said. */
export const DEFAULTS: FleetSettings = { lease: 60_000, keep: 7 * 86_400_000, replicas: 1 };

/** Milliseconds that a lease must have at least: a server renews it three times in that, over a network. */
const SHORTEST_LEASE = 1_000;

/** The settings as a command line has them. */
export interface GivenSettings {
  lease?: string | undefined;
  keep?: string | undefined;
  replicas?: string | undefined;
}

/** Reads the settings that a command line gives; those that it does not stay as they were, or are the defaults. */
export const readGiven = (
  { lease, keep, replicas }: GivenSettings,
  before: FleetSettings | undefined,
): FleetSettings => {
  const settings: FleetSettings = {
    ...(before ?? DEFAULTS),
    ...(lease === undefined ? {} : { lease: readDuration("lease", lease) }),
    ...(keep === undefined ? {} : { keep: readDuration("keep", keep) }),
    ...(replicas === undefined ? {} : { replicas: Number(replicas) }),
  };
  if (settings.lease < SHORTEST_LEASE) throw new CommandError("--lease must be at least 1s.");
  if (settings.keep <= settings.lease) throw new CommandError("--keep must be longer than --lease.");
  return settings;
};

/** A duration in words; below a second, and where there is a rest, in milliseconds. */
const timeText = (ms: number): string => (ms >= 1_000 && ms % 1_000 === 0 ? shortTime(ms) : `${ms}ms`);

const copiesText = (replicas: number): string => (replicas === 1 ? "one copy" : `${replicas} copies`);

/** Says what the settings are. */
export const settingsText = ({ lease, keep, replicas }: FleetSettings): string =>
  `lease ${timeText(lease)}, kept for ${timeText(keep)}, ${copiesText(replicas)}`;

/** Says which settings differ, with what they were and what they are. */
export const differences = (before: FleetSettings, after: FleetSettings): string[] => [
  ...(before.lease === after.lease ? [] : [`lease ${timeText(before.lease)} → ${timeText(after.lease)}`]),
  ...(before.keep === after.keep ? [] : [`kept for ${timeText(before.keep)} → ${timeText(after.keep)}`]),
  ...(before.replicas === after.replicas ? [] : [`${copiesText(before.replicas)} → ${copiesText(after.replicas)}`]),
];
