import type { FleetOverview } from "../../services/fleet/nats/overview.ts";
import { toSingleLine } from "../../services/platform/plain-text.ts";
import { PROGRAM } from "../command.ts";
import { type Column, formatTable, type Row } from "../table.ts";
import { shortTime } from "../task-words.ts";
import { type Terminal, wrap } from "../terminal.ts";
import { limitLines } from "./format-limits.ts";
import { settingsText } from "./settings.ts";

/** What `fleet status` shows. */
export interface FleetStatus extends FleetOverview {
  url: string;
  /** The version of nats-server. */
  version: string;
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

const SERVERS: readonly Column[] = [{ title: "SERVER" }, { title: "RUNS", align: "right" }, { title: "ID", drop: 1 }];

const missingLines = (missing: readonly string[], url: string): string[] => {
  const advice = `Run ${PROGRAM} fleet init --url ${url}`;
  return missing.length === 0
    ? []
    : [`The fleet is not set up: ${missing.join(", ")} ${missing.length === 1 ? "is" : "are"} missing. ${advice}`];
};

/** Formats how a fleet stands. `now` is epoch milliseconds. */
export const statusLines = (status: FleetStatus, screen: Terminal, now: number): string[] => {
  const { url, version, missing, settings, limits = {}, drained = [], pools, runs, servers } = status;
  const table = (columns: readonly Column[], rows: Row[]): string[] =>
    rows.length === 0 ? [] : ["", ...formatTable(columns, rows, screen)];
  const head = [
    `nats-server ${toSingleLine(version)} at ${url}`,
    ...missingLines(missing, url),
    ...(settings ? [settingsText(settings)] : []),
    ...(drained.length > 0 ? [`Takes no more orders: ${drained.map(toSingleLine).join(", ")}.`] : []),
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
    ...table(
      SERVERS,
      servers.map(({ id, label, runs: count }) => row(known(label, id), String(count), id)),
    ),
    ...(Object.keys(limits).length === 0 ? [] : ["", ...limitLines(limits, screen)]),
    ...(missing.length === 0 ? ["", screen.style("bold", sums)] : []),
  ];
};
