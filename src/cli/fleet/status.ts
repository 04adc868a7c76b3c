import { by, isDrainedIn, type ServedProject, servedProjects } from "../../services/fleet/fleet-view.ts";
import { askPresences } from "../../services/fleet/nats/nats-broker.ts";
import { type FleetOverview, readOverview } from "../../services/fleet/nats/overview.ts";
import type { Presence } from "../../services/fleet/questions.ts";
import { wrap } from "../../services/platform/columns.ts";
import { toSingleLine } from "../../services/platform/plain-text.ts";
import { shortTime } from "../../services/text/amounts.ts";
import { type CommandContext, EXIT, PROGRAM, printJson } from "../command.ts";
import { type Column, formatTable, type TableRow } from "../task-table.ts";
import { count, type Terminal } from "../terminal.ts";
import { type GivenBroker, type ReachedBroker, withBroker } from "./reach-broker.ts";
import { limitLines, settingsText } from "./settings.ts";

/** A server that works for others. */
export interface ServerStatus {
  id: string;
  /** Absent where neither it nor a log says it. */
  label?: string;
  /** How many runs it holds. */
  runs: number;
  /** False where it holds runs and does not answer; absent where the servers could not be asked. */
  isAnswering?: boolean;
  /** True where it takes no more jobs. */
  isDrained: boolean;
  /** As it says itself. */
  projects: ServedProject[];
}

/**
 * Returns the servers that are present, and those that hold runs.
 * @param presences what they said; undefined where they could not be asked
 */
export const serversOf = (
  { servers, drained = [] }: Pick<FleetOverview, "servers" | "drained">,
  presences: readonly Presence[] | undefined,
): ServerStatus[] => {
  const byId = Map.groupBy(presences ?? [], ({ server }) => server.id);
  const ids = new Set([...byId.keys(), ...servers.map(({ id }) => id)]);
  const all = [...ids].map((id): ServerStatus => {
    const said = byId.get(id) ?? [];
    const holding = servers.find((server) => server.id === id);
    const label = said[0]?.server.label ?? holding?.label;
    return {
      id,
      ...(label === undefined ? {} : { label }),
      runs: holding?.runs ?? 0,
      ...(presences ? { isAnswering: said.length > 0 } : {}),
      isDrained: isDrainedIn(drained, { id, label }),
      projects: servedProjects(said),
    };
  });
  return all.toSorted(by(({ id, label = id }) => `${label} ${id}`));
};

/** What `fleet status` shows. */
export interface FleetStatus extends Omit<FleetOverview, "servers"> {
  url: string;
  /** The version of nats-server. */
  version: string;
  /** Those that are present, and those that hold runs. */
  servers: ServerStatus[];
  /** Why the servers could not be asked whether they are present; absent where they were. */
  notAsked?: string;
}

const row = (...texts: string[]): TableRow => ({ cells: texts.map((text) => ({ text: toSingleLine(text) })) });

const POOLS: readonly Column[] = [
  { title: "PROJECT" },
  { title: "WAITING", align: "right" },
  { title: "TAKEN", align: "right" },
  { title: "POOL", drop: 1 },
];

const RUNS: readonly Column[] = [
  { title: "TASK" },
  { title: "RUNS ON" },
  { title: "LAUNCHED ON", drop: 2 },
  { title: "SINCE", align: "right", drop: 1 },
  { title: "POOL", drop: 3 },
];

const SERVERS: readonly Column[] = [
  { title: "SERVER" },
  { title: "AT WORK", align: "right" },
  { title: "STATE" },
  { title: "PROJECT", drop: 1 },
  { title: "VERSION", drop: 4 },
  { title: "ID", drop: 2 },
  { title: "POOL", drop: 3 },
];

const stateOf = ({ isAnswering, isDrained }: ServerStatus): string =>
  [...(isAnswering === false ? ["does not answer"] : []), ...(isDrained ? ["drained"] : [])].join(", ") ||
  (isAnswering ? "takes jobs" : "");

/** A row for each project of a server. */
const serverRows = (server: ServerStatus): TableRow[] => {
  const { id, label = id, runs, projects } = server;
  if (projects.length === 0) return [row(label, String(runs), stateOf(server), "", "", id, "")];
  return projects.map(({ pool, project, slots, atWork, version }) =>
    row(label, `${atWork}/${slots}`, stateOf(server), project, version, id, pool),
  );
};

/** Formats the status of a fleet. `now` is epoch milliseconds. */
export const statusLines = (status: FleetStatus, screen: Terminal, now: number): string[] => {
  const { url, version, missing, settings, limits = {}, drained = [], pools, runs, servers, notAsked } = status;
  const table = (columns: readonly Column[], rows: TableRow[]): string[] =>
    rows.length === 0 ? [] : ["", ...formatTable(columns, rows, screen)];
  const head = [
    `nats-server ${toSingleLine(version)} at ${url}`,
    ...(missing.length === 0
      ? []
      : [
          `The fleet is not set up: ${missing.join(", ")} ${missing.length === 1 ? "is" : "are"} missing. Run ${PROGRAM} fleet init --url ${url}`,
        ]),
    ...(settings ? [settingsText(settings)] : []),
    ...(drained.length > 0 ? [`Takes no more jobs: ${drained.map(toSingleLine).join(", ")}.`] : []),
    ...(notAsked === undefined
      ? []
      : [`The servers could not be asked who is there, so that idle ones are not shown: ${toSingleLine(notAsked)}.`]),
  ];
  const known = (label: string | undefined, id: string) => label ?? id;
  const waiting = pools.reduce((all, pool) => all + pool.waiting, 0);
  const jobs = waiting === 0 ? "No job waits" : `${count(waiting, "job")} ${waiting === 1 ? "waits" : "wait"}`;
  const sums = `${jobs}, ${count(runs.length, "run")} ${runs.length === 1 ? "is" : "are"} under way.`;
  return [
    ...head.flatMap((line) => wrap(line, screen.columns)),
    ...table(
      POOLS,
      pools.map((each) => row(each.project ?? "", String(each.waiting), String(each.taken), each.pool)),
    ),
    ...table(
      RUNS,
      runs.map(({ task, server, serverLabel, origin, originLabel, since, pool = "" }) =>
        row(
          task,
          known(serverLabel, server),
          known(originLabel, origin),
          since === undefined ? "" : shortTime(now - since),
          pool,
        ),
      ),
    ),
    ...table(SERVERS, servers.flatMap(serverRows)),
    ...(Object.keys(limits).length === 0 ? [] : ["", ...limitLines(limits, screen)]),
    ...(missing.length === 0 ? ["", screen.style("bold", sums)] : []),
  ];
};

const readStatus = async (broker: ReachedBroker): Promise<FleetStatus> => {
  const { url, version, nc, jsm } = broker;
  const [overview, presences] = await Promise.all([readOverview(jsm), askPresences(nc)]);
  const isAsked = typeof presences !== "string";
  const servers = serversOf(overview, isAsked ? presences : undefined);
  return { url, version, ...overview, servers, ...(isAsked ? {} : { notAsked: presences }) };
};

export const showFleet = async (
  { json, ...given }: GivenBroker & { json?: true | undefined },
  { terminal, end }: CommandContext,
): Promise<void> => {
  const status = await withBroker(given, readStatus);
  if (status.missing.length > 0) end(EXIT.found);
  if (json) return printJson(terminal, status);
  terminal.print(...statusLines(status, terminal, Date.now()));
};
