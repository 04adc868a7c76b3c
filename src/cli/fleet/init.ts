import { type FleetSettings, readSettings, setUpFleet } from "../../services/fleet/nats/streams.ts";
import { wrap } from "../../services/platform/columns.ts";
import { shortTime } from "../../services/text/amounts.ts";
import { CommandError, printJson, readDuration } from "../command.ts";
import type { Terminal } from "../terminal.ts";
import { type GivenBroker, withBroker } from "./reach-broker.ts";

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

/** Returns a duration in words; in milliseconds where it is no whole number of seconds. */
const timeText = (ms: number): string => (ms >= 1_000 && ms % 1_000 === 0 ? shortTime(ms) : `${ms}ms`);

const copiesText = (replicas: number): string => (replicas === 1 ? "one copy" : `${replicas} copies`);

/** Returns the settings in words. */
export const settingsText = ({ lease, keep, replicas }: FleetSettings): string =>
  `lease ${timeText(lease)}, kept for ${timeText(keep)}, ${copiesText(replicas)}`;

/** Returns which settings differ, with their values before and after. */
export const differences = (before: FleetSettings, after: FleetSettings): string[] => [
  ...(before.lease === after.lease ? [] : [`lease ${timeText(before.lease)} → ${timeText(after.lease)}`]),
  ...(before.keep === after.keep ? [] : [`kept for ${timeText(before.keep)} → ${timeText(after.keep)}`]),
  ...(before.replicas === after.replicas ? [] : [`${copiesText(before.replicas)} → ${copiesText(after.replicas)}`]),
];

/** What became of a fleet. */
export interface SetUp {
  url: string;
  settings: FleetSettings;
  /** Absent where there was none. */
  before?: FleetSettings;
  /** The streams that were made. */
  made: string[];
}

/** Returns what was done, and what to do next. */
export const setUpLines = ({ url, settings, before, made }: SetUp): string[] => {
  if (!before) {
    return [
      `The fleet is set up on ${url}: ${settingsText(settings)}.`,
      `Each OpenCode enters it with this option of the plugin: "fleet": { "url": ${JSON.stringify(url)} }`,
    ];
  }
  const changes = differences(before, settings);
  const lines = [
    ...(made.length === 0 ? [] : [`What was missing is made: ${made.join(", ")}.`]),
    changes.length === 0
      ? `The fleet on ${url} has these settings already: ${settingsText(settings)}.`
      : `The fleet on ${url} is changed: ${changes.join("; ")}.`,
  ];
  return before.lease === settings.lease
    ? lines
    : [...lines, "An OpenCode that is running keeps the lease that it began with: restart each of them."];
};

const CLUSTER = /non-clustered|insufficient resources|no suitable peers/;

const tooManyReplicas = (replicas: number, url: string, reason: string) =>
  new CommandError(
    `--replicas ${replicas} needs a cluster of at least ${replicas} NATS servers, each with JetStream. The one at ${url} ${reason}.`,
  );

/** `opencode-taskchart fleet init`. */
export const initFleet = async (
  { json, ...given }: GivenBroker & GivenSettings & { json?: true | undefined },
  terminal: Terminal,
): Promise<void> => {
  const done = await withBroker(given, async ({ url, jsm, isCluster }): Promise<SetUp> => {
    const before = await readSettings(jsm);
    const settings = readGiven(given, before);
    // nats-server 2.9.10 takes a change to three copies without a cluster, and keeps one.
    if (settings.replicas > 1 && !isCluster) throw tooManyReplicas(settings.replicas, url, "stands alone");
    try {
      return { url, settings, ...(before ? { before } : {}), made: await setUpFleet(jsm, settings) };
    } catch (error) {
      if (!(error instanceof Error) || !CLUSTER.test(error.message)) throw error;
      throw tooManyReplicas(settings.replicas, url, `says: ${error.message}`);
    }
  });
  if (json) return printJson(terminal, done);
  terminal.print(...setUpLines(done).flatMap((line) => wrap(line, terminal.columns)));
};
