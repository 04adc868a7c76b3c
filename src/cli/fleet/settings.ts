import {
  changeLimits,
  type FleetSettings,
  type ModelLimits,
  readSettings,
  type StoredLimits,
  setUpFleet,
} from "../../services/fleet/nats/streams.ts";
import { wrap } from "../../services/platform/columns.ts";
import { toSingleLine } from "../../services/platform/plain-text.ts";
import { shortTime } from "../../services/text/amounts.ts";
import { CommandError, PROGRAM, printJson, readDuration } from "../command.ts";
import { type Column, formatTable } from "../task-table.ts";
import type { Terminal } from "../terminal.ts";
import { type GivenBroker, withBroker } from "./reach-broker.ts";

/** The settings of a fleet for which nothing else was said. */
export const DEFAULTS: FleetSettings = { lease: 60_000, keep: 7 * 86_400_000, replicas: 1 };

/** Milliseconds that a lease must have at least: a server renews it three times in that, over a network. */
const SHORTEST_LEASE = 1_000;

/** The settings as a command line has them. */
interface GivenSettings {
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

interface SetUp {
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

const LIMITS: readonly Column[] = [{ title: "MODEL" }, { title: "LIMIT", align: "right" }];

/** Formats the limits of a fleet as a table, by model; no lines where there are none. */
export const limitLines = (limits: ModelLimits, screen: Terminal): string[] => {
  const rows = Object.entries(limits).sort(([one], [other]) => (one < other ? -1 : 1));
  if (rows.length === 0) return [];
  const cells = rows.map(([model, limit]) => [toSingleLine(model), limit === null ? "none" : String(limit)]);
  return formatTable(
    LIMITS,
    cells.map((texts) => ({ cells: texts.map((text) => ({ text })) })),
    screen,
  );
};

interface GivenLimit extends GivenBroker {
  model?: string | undefined;
  limit?: string | undefined;
  json?: true | undefined;
}

/** One limit, as it is set. */
interface Wanted {
  model: string;
  /** Null: any number. */
  limit: number | null;
}

/** Reads what a command line wants set; undefined where it only asks. @throws CommandError that says what to write */
const readWanted = ({ model, limit }: GivenLimit): Wanted | undefined => {
  if (model === undefined) return undefined;
  if (!/^[^\s/#]+\/[^\s#]+$/.test(model)) {
    throw new CommandError(
      `${JSON.stringify(model)} is no model: write it as provider/model, such as anthropic/claude-haiku-4-5, without a variant.`,
    );
  }
  if (limit === "none") return { model, limit: null };
  const number = /^\d+$/.test(limit ?? "") ? Number(limit) : Number.NaN;
  if (Number.isSafeInteger(number) && number > 0) return { model, limit: number };
  throw new CommandError(`Say how many tasks of ${model} may be at work at once: a number from 1 on, or none.`);
};

/**
 * Reads the limits of the fleet that a command line names, and changes them as `change` says where it is given.
 * @throws CommandError with the reason why they cannot be read, or why nothing was changed
 */
const withLimits = (given: GivenBroker, change?: (limits: StoredLimits) => StoredLimits) =>
  withBroker(given, async ({ url, jsm }): Promise<{ url: string; before: StoredLimits; after: StoredLimits }> => {
    try {
      const done = await changeLimits(jsm, change ?? ((limits) => limits));
      if (done.is === "changed") return { url, ...done };
      throw new CommandError(
        done.is === "unreadable"
          ? `The limits of the fleet on ${url} were written by another version of ${PROGRAM}. Use that one.`
          : "Others are changing the limits at the same time. Nothing was changed; try again.",
      );
    } catch (error) {
      if (!(error instanceof Error) || error.name !== "StreamNotFoundError") throw error;
      throw new CommandError(`The fleet on ${url} has no place for limits yet. Run ${PROGRAM} fleet init --url ${url}`);
    }
  });

const limitIn = (models: ModelLimits, model: string) => (Object.hasOwn(models, model) ? models[model] : null);

const amount = (limit: number | null | undefined): string => (limit == null ? "any number" : `at most ${limit}`);

export const limitFleet = async (given: GivenLimit, terminal: Terminal): Promise<void> => {
  const wanted = readWanted(given);
  const { url, before, after } = await withLimits(given, (limits) => {
    if (!wanted || limitIn(limits.models, wanted.model) === wanted.limit) return limits;
    return { ...limits, models: { ...limits.models, [wanted.model]: wanted.limit } };
  });
  if (given.json) return printJson(terminal, { url, limits: after.models, ...(wanted && { before: before.models }) });
  if (wanted) {
    const was = limitIn(before.models, wanted.model);
    const now = `${wanted.model}: ${amount(wanted.limit)} of its tasks may be at work in the fleet at once`;
    const sentence = was === wanted.limit ? `${now}, as before.` : `${now}; before, ${amount(was)}.`;
    return terminal.print(...wrap(sentence, terminal.columns));
  }
  const lines = limitLines(after.models, terminal);
  terminal.print(...(lines.length === 0 ? ["No model is limited in this fleet."] : lines));
};

interface GivenDrain extends GivenBroker {
  server?: string | undefined;
  undo?: true | undefined;
  json?: true | undefined;
}

/** Returns the drained servers with that one, or without it; the same list where that is so already. */
const changed = (drained: readonly string[], server: string, isWanted: boolean): readonly string[] => {
  if (drained.includes(server) === isWanted) return drained;
  return isWanted ? [...drained, server] : drained.filter((other) => other !== server);
};

export const drainServer = async (given: GivenDrain, terminal: Terminal): Promise<void> => {
  const { server, undo = false } = given;
  const { url, after } = await withLimits(given, (limits) => {
    const drained = server === undefined ? limits.drained : changed(limits.drained, server, !undo);
    return drained === limits.drained ? limits : { ...limits, drained };
  });
  const { drained } = after;
  if (given.json) return printJson(terminal, { url, drained });
  if (server === undefined) {
    return terminal.print(...(drained.length === 0 ? ["Every server takes jobs."] : drained.map(toSingleLine)));
  }
  const name = toSingleLine(server);
  const sentence = undo
    ? `Server ${name} takes jobs again.`
    : `Server ${name} takes no more jobs, and finishes what it works on. fleet drain --undo lets it take jobs again.`;
  terminal.print(...wrap(sentence, terminal.columns));
};
