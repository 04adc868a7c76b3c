import { type FleetSettings, readSettings, setUpFleet } from "../../services/fleet/nats/set-up.ts";
import { wrap } from "../../services/platform/columns.ts";
import { CommandError, printJson } from "../command.ts";
import type { Terminal } from "../terminal.ts";

import { type GivenEngine, withEngine } from "./engine.ts";
import { differences, type GivenSettings, readGiven, settingsText } from "./settings.ts";

/** What became of a fleet. */
export interface SetUp {
  url: string;
  settings: FleetSettings;
  /** Absent where there was none. */
  before?: FleetSettings;
  /** The streams that were made. */
  made: string[];
}

/** Says what was done, and what to do next. */
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
  { json, ...given }: GivenEngine & GivenSettings & { json?: true | undefined },
  terminal: Terminal,
): Promise<void> => {
  const done = await withEngine(given, async ({ url, jsm, isCluster }): Promise<SetUp> => {
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
