import { describe, expect, test } from "vitest";
import { differences, setUpLines } from "../../src/cli/fleet/settings.ts";
import { type FleetStatus, statusLines } from "../../src/cli/fleet/status.ts";
import { columnsOf } from "../../src/services/platform/columns.ts";
import { scriptedTerminal } from "./scripted-terminal.ts";

const NOW = Date.parse("2026-11-23T10:00:00.000Z");
const URL = "nats://10.0.0.5:4222";
const SETTINGS = { lease: 30_000, keep: 604_800_000, replicas: 1 };

const STATUS: FleetStatus = {
  ...{ url: URL, version: "2.10.27", missing: [], settings: SETTINGS },
  pools: [
    { pool: "b2c4e1f09a", project: "shop", waiting: 1, taken: 1 },
    { pool: "of another", waiting: 1, taken: 0 },
  ],
  runs: [
    {
      ...{ task: "ses_1", run: 0, origin: "srv_0f6b2a91c3d4", pool: "b2c4e1f09a" },
      ...{ server: "srv_9e8d7c6b5a40", serverLabel: "desk", since: NOW - 65_000 },
    },
    { task: "ses_2", run: 1, origin: "srv_9e8d7c6b5a40", originLabel: "desk", server: "srv_111111111111" },
  ],
  servers: [
    {
      ...{ id: "srv_9e8d7c6b5a40", label: "desk", runs: 1, isAnswering: true, isDrained: false },
      projects: [{ pool: "b2c4e1f09a", project: "shop", slots: 4, atWork: 1, version: "0.1.0" }],
    },
    {
      ...{ id: "srv_222222222222", label: "tower", runs: 0, isAnswering: true, isDrained: true },
      projects: [{ pool: "b2c4e1f09a", project: "shop", slots: 20, atWork: 0, version: "0.1.0" }],
    },
    { id: "srv_111111111111", runs: 1, isAnswering: false, isDrained: false, projects: [] },
  ],
};

const lines = (status: Partial<FleetStatus> = {}, columns = 100) =>
  statusLines({ ...STATUS, ...status }, scriptedTerminal({ columns }), NOW);

describe("fleet status", () => {
  test("shows the settings, what waits, what runs and where, and who works", () => {
    expect(lines()).toEqual([
      "nats-server 2.10.27 at nats://10.0.0.5:4222",
      "lease 30s, kept for 7d, one copy",
      "",
      "PROJECT  WAITING  TAKEN  POOL",
      "shop           1      1  b2c4e1f09a",
      "               1      0  of another",
      "",
      "TASK   RUNS ON           LAUNCHED ON       SINCE  POOL",
      "ses_1  desk              srv_0f6b2a91c3d4  1m 5s  b2c4e1f09a",
      "ses_2  srv_111111111111  desk",
      "",
      "SERVER            AT WORK  STATE            PROJECT  VERSION  ID                POOL",
      "desk                  1/4  takes jobs       shop     0.1.0    srv_9e8d7c6b5a40  b2c4e1f09a",
      "tower                0/20  drained          shop     0.1.0    srv_222222222222  b2c4e1f09a",
      "srv_111111111111        1  does not answer                    srv_111111111111",
      "",
      "2 jobs wait, 2 runs are under way.",
    ]);
  });

  test("says that nothing goes on, without tables", () => {
    expect(lines({ pools: [], runs: [], servers: [] }).slice(2)).toEqual(["", "No job waits, 0 runs are under way."]);
  });

  test("says of servers that could not be asked only what they hold", () => {
    const [, , third] = STATUS.servers;
    const { isAnswering: _, ...unasked } = { ...third } as FleetStatus["servers"][number];
    const shown = lines({ servers: [unasked], notAsked: "Permissions Violation" }, 200);
    expect(shown).toContain(
      "The servers could not be asked who is there, so that idle ones are not shown: Permissions Violation.",
    );
    expect(shown.at(-3)).toMatch(/^srv_111111111111 +1 +srv_111111111111/);
  });

  test("says what is missing and what to run, and no more", () => {
    const { settings: _, ...rest } = STATUS;
    const status = { ...rest, missing: ["TASKCHART_RUNS"], pools: [], runs: [], servers: [] };
    expect(statusLines(status, scriptedTerminal({ columns: 200 }), NOW)).toEqual([
      "nats-server 2.10.27 at nats://10.0.0.5:4222",
      "The fleet is not set up: TASKCHART_RUNS is missing. Run opencode-taskchart fleet init --url nats://10.0.0.5:4222",
    ]);
  });

  test.each([40, 60, 80])("has no line of a table wider than %i columns", (columns) => {
    for (const line of lines({}, columns)) expect(columnsOf(line)).toBeLessThanOrEqual(columns);
  });

  test("keeps each row on its line, whatever a server calls itself", () => {
    const label = "desk\n\u001b[2Jses_9  other";
    const [first] = STATUS.runs;
    const shown = lines({ runs: [{ ...first, serverLabel: label } as FleetStatus["runs"][number]] });
    expect(shown.filter((line) => line.startsWith("ses_"))).toHaveLength(1);
    expect(shown.join("\n")).not.toContain("\u001b");
  });
});

describe("fleet init", () => {
  test("says what was changed and what was made", () => {
    const after = { lease: 1_500, keep: 86_400_000, replicas: 3 };
    expect(setUpLines({ url: URL, settings: after, before: SETTINGS, made: ["TASKCHART_LIMITS"] })).toEqual([
      "What was missing is made: TASKCHART_LIMITS.",
      "The fleet on nats://10.0.0.5:4222 is changed: lease 30s → 1500ms; kept for 7d → 1d; one copy → 3 copies.",
      "An OpenCode that is running keeps the lease that it began with: restart each of them.",
    ]);
    expect(differences(SETTINGS, SETTINGS)).toEqual([]);
  });
});
