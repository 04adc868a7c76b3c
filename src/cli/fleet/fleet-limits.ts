import type { JetStreamManager } from "@nats-io/jetstream";
import { changeLimits, type ModelLimits, readLimits, type StoredLimits } from "../../services/fleet/nats/streams.ts";
import { wrap } from "../../services/platform/columns.ts";
import { toSingleLine } from "../../services/platform/plain-text.ts";
import { CommandError, PROGRAM, printJson } from "../command.ts";
import { type Column, formatTable } from "../table.ts";
import type { Terminal } from "../terminal.ts";
import { type GivenBroker, withBroker } from "./reach-broker.ts";

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

/** What `fleet limit` is given. */
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

export const UNREADABLE = (url: string) =>
  new CommandError(`The limits of the fleet on ${url} were written by another version of ${PROGRAM}. Use that one.`);

export const notSetUp = (url: string) =>
  new CommandError(`The fleet on ${url} has no place for limits yet. Run ${PROGRAM} fleet init --url ${url}`);

/** Changes what is set for a fleet. @throws CommandError with the reason why nothing was changed */
export const changeOrRefuse = async (
  jsm: JetStreamManager,
  url: string,
  change: (limits: StoredLimits) => StoredLimits,
): Promise<{ before: StoredLimits; after: StoredLimits }> => {
  const changed = await changeLimits(jsm, change);
  if (changed.is === "changed") return changed;
  if (changed.is === "unreadable") throw UNREADABLE(url);
  throw new CommandError("Others are changing the limits at the same time. Nothing was changed; try again.");
};

const setLimit = async (jsm: JetStreamManager, { model, limit }: Wanted, url: string) => {
  const isSo = (models: ModelLimits) => (Object.hasOwn(models, model) ? models[model] : null) === limit;
  const { before, after } = await changeOrRefuse(jsm, url, (limits) =>
    isSo(limits.models) ? limits : { ...limits, models: { ...limits.models, [model]: limit } },
  );
  return { before: before.models, models: after.models };
};

const amount = (limit: number | null | undefined): string => (limit == null ? "any number" : `at most ${limit}`);

/** Returns what a limit is now, and what it was, as a sentence. */
const changeText = ({ model, limit }: Wanted, before: ModelLimits): string => {
  const was = Object.hasOwn(before, model) ? before[model] : null;
  const now = `${amount(limit)} of its tasks may be at work in the fleet at once`;
  return was === limit ? `${model}: ${now}, as before.` : `${model}: ${now}; before, ${amount(was)}.`;
};

/** `opencode-taskchart fleet limit`. */
export const limitFleet = async (given: GivenLimit, terminal: Terminal): Promise<void> => {
  const wanted = readWanted(given);
  const { url, before, limits } = await withBroker(given, async ({ url, jsm }) => {
    try {
      if (wanted) {
        const { before, models } = await setLimit(jsm, wanted, url);
        return { url, before, limits: models };
      }
      const found = await readLimits(jsm);
      if (!found) throw UNREADABLE(url);
      return { url, before: undefined, limits: found.models };
    } catch (error) {
      throw error instanceof Error && error.name === "StreamNotFoundError" ? notSetUp(url) : error;
    }
  });
  if (given.json) return printJson(terminal, { url, limits, ...(before ? { before } : {}) });
  if (wanted && before) return terminal.print(...wrap(changeText(wanted, before), terminal.columns));
  const lines = limitLines(limits, terminal);
  terminal.print(...(lines.length === 0 ? ["No model is limited in this fleet."] : lines));
};

/** What `fleet drain` is given. */
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

const textOf = (server: string, isDrained: boolean): string =>
  isDrained
    ? `Server ${toSingleLine(server)} takes no more jobs, and finishes what it works on. fleet drain --undo lets it take jobs again.`
    : `Server ${toSingleLine(server)} takes jobs again.`;

/** `opencode-taskchart fleet drain`. */
export const drainServer = async (given: GivenDrain, terminal: Terminal): Promise<void> => {
  const { server, undo = false } = given;
  const { url, drained } = await withBroker(given, async ({ url, jsm }) => {
    try {
      if (server === undefined) {
        const found = await readLimits(jsm);
        if (!found) throw UNREADABLE(url);
        return { url, drained: found.drained };
      }
      const { after } = await changeOrRefuse(jsm, url, (limits) => {
        const drained = changed(limits.drained, server, !undo);
        return drained === limits.drained ? limits : { ...limits, drained };
      });
      return { url, drained: after.drained };
    } catch (error) {
      throw error instanceof Error && error.name === "StreamNotFoundError" ? notSetUp(url) : error;
    }
  });
  if (given.json) return printJson(terminal, { url, drained });
  if (server !== undefined) return terminal.print(...wrap(textOf(server, !undo), terminal.columns));
  terminal.print(...(drained.length === 0 ? ["Every server takes jobs."] : drained.map(toSingleLine)));
};
