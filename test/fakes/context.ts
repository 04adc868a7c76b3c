import { readOptions } from "../../src/options.ts";
import { createContext, type EngineContext } from "../../src/services/engine/context.ts";
import { createClosableHost } from "../../src/services/host/closable-host.ts";
import { createDirectoryOpenings, createSessionDirectories } from "../../src/services/host/directories.ts";
import type { Host } from "../../src/services/host/host.ts";
import type { Clock } from "../../src/services/platform/clock.ts";
import { createIds } from "../../src/services/platform/ids.ts";
import type { Log } from "../../src/services/platform/log.ts";
import { createMemory } from "./disk.ts";
import { createFakeHost } from "./fake-host.ts";
import { createVirtualClock } from "./virtual-clock.ts";

const silent: Log = { info: () => undefined, error: () => undefined };

/** The context of an engine in which no effect is carried out, and no worktree is known. */
export const createTestContext = ({
  clock = createVirtualClock(),
  host = createFakeHost(createVirtualClock()),
  log = silent,
}: {
  clock?: Clock;
  host?: Host;
  log?: Log;
} = {}): EngineContext => {
  const { options } = readOptions({});
  return createContext(
    {
      ...{ clock, log, host: createClosableHost(host), ids: createIds(clock) },
      opening: createDirectoryOpenings(clock).open("/project"),
      store: createMemory().boot(createVirtualClock()),
      runCommand: async () => ({ end: "exited", exit: 0, output: "" }),
      loadJsonSchemas: async () => {
        throw new Error("no schema is used");
      },
      directory: "/project",
      sessionDirectories: createSessionDirectories(),
      isServed: () => true,
      options: {
        ...options,
        isHeadless: false,
        timeouts: { stale: 600_000, run: undefined, provider: 86_400_000 },
        loop: { repeat: 20, readingTools: [] },
        budget: { toolCalls: undefined, tokens: undefined, cost: undefined, tasksPerParent: 200 },
        attention: { timeout: undefined, command: "opencode-taskchart", seenThrough: "terminal" },
        notice: {
          tools: { launch: "task", output: undefined, list: undefined, resume: undefined },
          maxResultChars: undefined,
          development: false,
        },
        worktree: { root: "/nowhere/worktrees", agents: [], setup: undefined, keep: 0 },
      },
      worktrees: {
        obstacleTo: () => undefined,
        untilCounted: () => undefined,
        isCounting: () => false,
        changesOf: () => undefined,
      },
    },
    { know: () => undefined, perform: () => undefined, onFault: () => undefined },
  );
};
