import { describe, expect, test } from "vitest";
import type { FilesRead } from "../../../src/services/worktrees/fingerprints.ts";
import { createGateComparison } from "../../../src/services/worktrees/gate-comparison.ts";
import type { Task } from "../../../src/task.ts";
import { receipt } from "../../fakes/receipt.ts";
import { createVirtualClock, settled } from "../../fakes/virtual-clock.ts";

describe("the files that a gate saw", () => {
  const ENDED_AT = 1_000;

  /** A task whose gate saw files, and what compares them with those that are read when the test says so. */
  const setUp = () => {
    const clock = createVirtualClock(ENDED_AT);
    const reads: { directory: string; answer(files: FilesRead): void }[] = [];
    const compare = createGateComparison((directory) => {
      const { promise, resolve } = Promise.withResolvers<FilesRead>();
      reads.push({ directory, answer: resolve });
      return promise;
    }, clock);
    const gate = { command: "npm test", runs: 1, exit: 0, end: "exited", files: { fingerprint: "tree1" } } as const;
    const task: Pick<Task, "directory" | "worktree" | "server" | "completedAt" | "receipt"> = {
      directory: "/project",
      completedAt: new Date(ENDED_AT).toISOString(),
      receipt: receipt({ gate }),
    };
    const changed = async (of = task) => (await compare(of)).receipt?.gate?.files?.haveChanged;
    return { clock, reads, changed, task, gate };
  };

  test.each([
    ["tree1", false],
    ["tree2", true],
  ])("are compared with %s, which is there when the receipt is read: changed is %s", async (fingerprint, expected) => {
    const { reads, changed } = setUp();
    const asked = changed();
    reads[0]?.answer({ fingerprint });
    expect(await asked).toBe(expected);
    expect(reads.map(({ directory }) => directory)).toEqual(["/project"]);
  });

  test("are read where the task worked", async () => {
    const { reads, changed, task } = setUp();
    void changed({ ...task, worktree: { id: "w1", directory: "/worktrees/w1/tree", isShared: false } });
    expect(reads.map(({ directory }) => directory)).toEqual(["/worktrees/w1/tree"]);
  });

  test("are read once for all who ask while that is under way, and for two seconds from then on", async () => {
    const { clock, reads, changed } = setUp();
    const both = Promise.all([changed(), changed()]);
    reads[0]?.answer({ fingerprint: "tree1" });
    expect(await both).toEqual([false, false]);
    await clock.advance(1_999);
    expect(await changed()).toBe(false);
    expect(reads).toHaveLength(1);
    await clock.advance(1);
    void changed();
    expect(reads).toHaveLength(2);
  });

  test("are not compared with what was read before the gate had ended", async () => {
    const { clock, reads, changed, task } = setUp();
    const earlier = changed();
    reads[0]?.answer({ fingerprint: "tree2" });
    expect(await earlier).toBe(true);
    await clock.advance(10);
    const later = changed({ ...task, completedAt: new Date(clock.now()).toISOString() });
    expect(reads).toHaveLength(2);
    reads[1]?.answer({ fingerprint: "tree1" });
    expect(await later).toBe(false);
  });

  test("are not waited for longer than three seconds, and what is read then serves whoever asks next", async () => {
    const { clock, reads, changed } = setUp();
    const asked = changed();
    await clock.advance(3_000);
    expect(await asked).toBeUndefined();
    const next = changed();
    reads[0]?.answer({ fingerprint: "tree2" });
    expect(await next).toBe(true);
    expect(reads).toHaveLength(1);
  });

  test("are not compared where they cannot be read, or that would say nothing", async () => {
    const { reads, changed, task, gate } = setUp();
    const asked = changed();
    reads[0]?.answer({ problem: "git failed" });
    expect(await asked).toBeUndefined();
    const { completedAt: _, ...running } = task;
    expect(await changed(running)).toBeUndefined();
    expect(await changed({ ...task, server: { id: "1", label: "other" } })).toBeUndefined();
    expect(await changed({ ...task, receipt: undefined })).toBeUndefined();
    expect(await changed({ ...task, receipt: receipt({ gate: { ...gate, files: { problem: "no git" } } }) })).toBe(
      undefined,
    );
    await settled();
    expect(reads).toHaveLength(1);
  });
});
