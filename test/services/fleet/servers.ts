import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, vi } from "vitest";
import { isAtRest } from "../../../src/machines/task/machine.ts";
import type { Broker } from "../../../src/services/fleet/broker.ts";
import { commitObstacle, publishedCommit } from "../../../src/services/fleet/jobs.ts";
import { createMemory } from "../../fakes/disk.ts";
import { createMemoryBroker, type MemoryBroker } from "../../fakes/memory-broker.ts";
import { newRepository, type Repository, repositoryAt, temporaryFolder } from "../../fakes/repository.ts";
import { createStage, PARENT, type Stage, type StageOptions } from "../../fakes/stage.ts";
import { createVirtualClock, type VirtualClock } from "../../fakes/virtual-clock.ts";
import { PATIENCE_MS } from "../../patience.ts";

/** A server of a simulated fleet: the whole plugin, with a clone of the project. */
export interface Server extends Stage {
  project: Repository;
}

/** Servers that share the broker of a fleet, and a project that each has cloned. */
export interface Fleet {
  clock: VirtualClock;
  broker: MemoryBroker;
  /** Adds a server. `work`: how many runs of others it works on at once; `connect`: opens its connection, where it is to another broker. */
  add(id: string, options?: { work?: number; connect?: () => Broker } & Partial<StageOptions>): Server;
  /** Advances time until `check` passes. */
  until(check: () => void): Promise<void>;
}

const PATIENCE = 900_000;

export const createFleet = (): Fleet => {
  const clock = createVirtualClock();
  const broker = createMemoryBroker(clock);
  const origin = newRepository({ "a.txt": "one\n" });
  return {
    clock,
    broker,
    add: (id, { work = 0, connect = broker.connect, ...options } = {}) => {
      const folder = temporaryFolder();
      const top = join(folder, "project");
      mkdirSync(top);
      const project = repositoryAt(top);
      project.git("clone", "--quiet", origin.top, ".");
      const membership = () => ({
        ...{ broker: connect(), server: { id, label: id }, pool: "project", project: "project", work },
        ...{ offer: ["explore"], attempts: 2, patience: PATIENCE, version: "0.1.0" },
        commits: { published: publishedCommit, obstacle: commitObstacle },
      });
      const stage = createStage({
        clock,
        directory: top,
        openStore: createMemory().boot,
        worktree: { root: join(folder, "worktrees") },
        fleet: membership,
        ...options,
      });
      return Object.assign(stage, { project });
    },
    // Git takes real time, and all else simulated time.
    until: (check) =>
      vi.waitFor(
        async () => {
          await clock.advance(500);
          check();
        },
        { timeout: PATIENCE_MS, interval: 5 },
      ),
  };
};

export const LEASE = 60_000;

/** The tasks that a server has for others, and whose ends are not received, by their ids here. */
export const workOf = (server: Server): string[] =>
  server.store.list({}).flatMap(({ sessionID }) => {
    const record = server.store.get(sessionID);
    return record?.task.job && !isAtRest(record.snapshot) ? sessionID : [];
  });

export const texts = (server: Server) =>
  server.notices(PARENT).map((parts) => parts.map(({ text }) => text).join("\n"));

/** A server that launches, and a task that nobody works on, since no other server is there. */
export const enqueued = async () => {
  const fleet = createFleet();
  const origin = fleet.add("srv_origin");
  const id = await origin.launch({ agent: "explore" });
  await fleet.until(() => expect(origin.task(id).state).toBe("running.fleet.unclaimed.enqueued"));
  return { ...fleet, origin, id };
};

/** A server that launches, and some that work. The task is under way on the first that takes it. */
export const runElsewhere = async (workers = 2, work = 1, options: Partial<StageOptions> = {}) => {
  const fleet = createFleet();
  const origin = fleet.add("srv_origin", options);
  const others = Array.from({ length: workers }, (_, index) => fleet.add(`srv_${index + 1}`, { work }));
  const id = await origin.launch({ agent: "explore", prompt: "Find it." });
  await fleet.until(() => expect(others.flatMap(workOf)).toHaveLength(1));
  const worker = others.find((other) => workOf(other).length === 1) as Server;
  const other = others.find((one) => one !== worker) as Server;
  const [there = ""] = workOf(worker);
  await fleet.until(() => expect(origin.task(id).state).toBe("running.fleet.claimed"));
  return { ...fleet, origin, worker, other, id, there };
};

/** The result is delivered once, and nothing is left of the run anywhere. */
export const expectOnce = async (
  { origin, until, clock }: Pick<Awaited<ReturnType<typeof runElsewhere>>, "origin" | "until" | "clock">,
  servers: Server[],
  text: string,
) => {
  await until(() => expect(texts(origin)).toHaveLength(1));
  await until(() => expect(servers.flatMap(workOf)).toEqual([]));
  await clock.advance(10 * LEASE);
  expect(texts(origin)).toHaveLength(1);
  expect(texts(origin)[0]).toContain(text);
};
