import type { FleetOverview } from "../../services/fleet/nats/overview.ts";
import { wrap } from "../../services/platform/columns.ts";
import { toSingleLine } from "../../services/platform/plain-text.ts";
import { shortTime } from "../../services/text/amounts.ts";
import { PROGRAM } from "../command.ts";
import { type Column, formatTable, type Row } from "../table.ts";
import type { Terminal } from "../terminal.ts";
import { limitLines } from "./format-limits.ts";
import type { ServerStatus } from "./servers.ts";
import { settingsText } from "./settings.ts";

/** What `fleet status` shows. */
export interface FleetStatus extends Omit<FleetOverview, "servers"> {
  url: string;
  /** The version of nats-server. */
  version: string;
  /** Those that say that they are there, and those that hold runs. */
  servers: ServerStatus[];
  /** Why the servers could not be asked who is there; absent where they were. */
  notAsked?: string;
}

const row = (...texts: string[]): Row => ({ cells: texts.map((text) => ({ text: toSingleLine(text) })) });

const sum = (numbers: number[]): number => numbers.reduce((all, number) => all + number, 0);

const ordersText = (waiting: number): string => {
  if (waiting === 0) return "No order waits";
  return waiting === 1 ? "1 order waits" : `${waiting} orders wait`;
};

const runsText = (runs: number): string => (runs === 1 ? "1 run is under way" : `${runs} runs are under way`);

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
  (isAnswering ? "takes orders" : "");

/** A row for each project of a server. */
const serverRows = (server: ServerStatus): Row[] => {
  const { id, label = id, runs, projects } = server;
  if (projects.length === 0) return [row(label, String(runs), stateOf(server), "", "", id, "")];
  return projects.map(({ pool, project, slots, atWork, version }) =>
    row(label, `${atWork}/${slots}`, stateOf(server), project, version, id, pool),
  );
};

const notAskedLines = (reason: string | undefined): string[] =>
  reason === undefined
    ? []
    : [`The servers could not be asked who is there, so that idle ones are not shown: ${toSingleLine(reason)}.`];

const missingLines = (missing: readonly string[], url: string): string[] => {
  const advice = `Run ${PROGRAM} fleet init --url ${url}`;
  return missing.length === 0
    ? []
    : [`The fleet is not set up: ${missing.join(", ")} ${missing.length === 1 ? "is" : "are"} missing. ${advice}`];
};

/** Formats how a fleet stands. `now` is epoch milliseconds. */
export const statusLines = (status: FleetStatus, screen: Terminal, now: number): string[] => {
  const { url, version, missing, settings, limits = {}, drained = [], pools, runs, servers, notAsked } = status;
  const table = (columns: readonly Column[], rows: Row[]): string[] =>
    rows.length === 0 ? [] : ["", ...formatTable(columns, rows, screen)];
  const head = [
    `nats-server ${toSingleLine(version)} at ${url}`,
    ...missingLines(missing, url),
    ...(settings ? [settingsText(settings)] : []),
    ...(drained.length > 0 ? [`Takes no more orders: ${drained.map(toSingleLine).join(", ")}.`] : []),
    ...notAskedLines(notAsked),
  ];
  const known = (label: string | undefined, id: string) => label ?? id;
  const sums = `${ordersText(sum(pools.map(({ waiting }) => waiting)))}, ${runsText(runs.length)}.`;
  return [
    ...head.flatMap((line) => wrap(line, screen.columns)),
    ...table(
      POOLS,
      pools.map(({ pool, project = "", waiting, taken }) => row(project, String(waiting), String(taken), pool)),
    ),
    ...table(
      RUNS,
      runs.map(({ task, server, serverLabel, home, homeLabel, since, pool = "" }) =>
        row(
          task,
          known(serverLabel, server),
          known(homeLabel, home),
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
