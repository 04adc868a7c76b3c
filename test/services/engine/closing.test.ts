import { afterEach, describe, expect, test } from "vitest";
import type { HostEvent } from "../../../src/machines/host-events.ts";
import type { Host } from "../../../src/services/host/host.ts";
import { createDisk, type Disk } from "../../fakes/disk.ts";
import { createStage, PARENT, type Stage } from "../../fakes/stage.ts";
import { settled } from "../../fakes/virtual-clock.ts";

const disks: Disk[] = [];

afterEach(() => {
  for (const disk of disks.splice(0)) disk.remove();
});

const createDurableStage = (): Stage => {
  const disk = createDisk();
  disks.push(disk);
  return createStage({ openStore: disk.boot, toolsets: ["tasks", "subtasks"] });
};

const HOUR = 3_600_000;

const request = { id: "per_1", kind: "permission", what: "bash: ls", since: 0 } as const;

/** A bit of all that the plugin does. Nothing is awaited but time: a call that is held holds up its own step only. */
const doEverything = async (stage: Stage): Promise<void> => {
  const { host, clock } = stage;
  const step = async (work: () => unknown) => {
    void (async () => work())().catch(() => undefined);
    await clock.advance(1_000);
  };
  const idOf = (index: number) => stage.engine.list({})[index]?.sessionID ?? "none";
  host.converse(PARENT);
  const [first] = host.at(PARENT).messages;
  if (first) Object.assign(first, { text: "long ".repeat(1_000), toolResult: true });
  await step(() => stage.launch({ prompt: "one" }));
  await step(() => stage.launch({ prompt: "two", fork: true }));
  host.addSession("ses_below", { parentID: idOf(0) });
  await step(() => host.emitSession("ses_below", true));
  await step(() => host.emit({ type: "asked", sessionID: idOf(0), request }));
  await step(() => stage.call("output", { task_id: idOf(0), full_session: true }));
  await step(() => stage.call("cancel", { task_id: idOf(0) }));
  await step(() => host.finish(idOf(1), "two"));
  await clock.advance(10_000);
  await step(() => stage.call("task", { resume: idOf(1), prompt: "more" }));
  await step(() => host.finish(idOf(1), "more"));
  await step(() => host.emit({ type: "compacted", sessionID: PARENT }));
  await clock.advance(10_000);
};

/** What the host may go on telling, of every session that it has. */
const tellEverything = ({ host }: Stage) => {
  for (const sessionID of host.sessionIDs()) {
    const told: HostEvent[] = [
      { type: "busy", sessionID },
      { type: "error", sessionID, error: { name: "MessageAbortedError", message: "Aborted" } },
      { type: "idle", sessionID },
      { type: "compacted", sessionID },
      { type: "asked", sessionID, request: { ...request, id: `per_${sessionID}` } },
      { type: "deleted", sessionID },
    ];
    for (const event of told) host.emit(event);
  }
};

const reached = async (): Promise<(keyof Host)[]> => {
  const stage = createDurableStage();
  await doEverything(stage);
  return [...new Set(stage.host.calls)];
};

describe("no call reaches the host once the engine is stopped", async () => {
  const calls = await reached();

  test("which is shown of most calls that a host has", () => {
    expect(calls.length).toBeGreaterThanOrEqual(14);
  });

  test.each(calls)("while it answered the call %s", async (call) => {
    const stage = createDurableStage();
    const held = stage.host.holdNext(call);
    const play = doEverything(stage);
    for (let round = 0; round < 10_000 && !stage.host.calls.includes(call); round += 1) await settled();
    expect(stage.host.calls).toContain(call);
    stage.engine.stop();
    const before = stage.host.calls.length;
    held.release();
    await play;
    tellEverything(stage);
    await stage.clock.advance(HOUR);
    expect(stage.host.calls.slice(before)).toEqual([]);
  });
});
