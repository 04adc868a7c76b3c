import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { applyLeftChanges, findLeftWorktree } from "../../../src/services/worktrees/left-changes.ts";
import { expectOnce, runElsewhere, type Server, texts, workOf } from "./servers.ts";

describe("what a task changed on another server", () => {
  /** The worktree that a server's agent works in. */
  const treeOf = (server: Server, taskId: string): string => server.task(taskId).worktree?.directory ?? "";

  test("is in a worktree at the origin when its end is delivered, and its worktree there is removed", async () => {
    const world = await runElsewhere(1);
    const { origin, worker, id, there, until } = world;
    const tree = treeOf(worker, there);
    writeFileSync(join(tree, "a.txt"), "two\n");
    writeFileSync(join(tree, "picture"), Buffer.from([0, 255, 1, 254]));
    worker.host.finish(there, "Changed.");
    await expectOnce(world, [worker], "2 files changed");
    const here = treeOf(origin, id);
    expect(readFileSync(join(here, "a.txt"), "utf8")).toBe("two\n");
    expect(readFileSync(join(here, "picture"))).toEqual(Buffer.from([0, 255, 1, 254]));
    expect(origin.project.read("a.txt")).toBe("one\n");
    await until(() => expect(existsSync(tree)).toBe(false));
    expect(worker.project.read("a.txt")).toBe("one\n");
  });

  test("stays there when it is too large to be sent, and its result says so", async () => {
    const world = await runElsewhere(1);
    const { origin, worker, id, there } = world;
    const tree = treeOf(worker, there);
    writeFileSync(join(tree, "large"), randomBytes(600_000));
    worker.host.finish(there, "Changed.");
    await expectOnce(world, [worker], "too large for the fleet: they stay on the server that worked on it");
    expect(existsSync(join(tree, "large"))).toBe(true);
    expect(origin.task(id).worktree).toBeUndefined();
  });

  test("is kept as a patch when it cannot be applied at the origin", async () => {
    const world = await runElsewhere(1);
    const { origin, worker, id, there } = world;
    writeFileSync(join(treeOf(worker, there), "a.txt"), "two\n");
    rmSync(origin.project.path(".git/objects"), { recursive: true });
    worker.host.finish(there, "Changed.");
    await expectOnce(world, [worker], "Changed.");
    expect(origin.task(id).worktree).toBeUndefined();
    const said = origin.logged.find((line) => line.includes("could not be taken over")) ?? "";
    const [, folder = ""] = /the patch is in \W*(\/[^"\\ ]+)/.exec(said) ?? [];
    expect(readFileSync(join(folder, "received.patch"), "utf8")).toContain("+two");
  });

  test("is there again when the task is resumed, and all of it is sent once more", async () => {
    const { origin, worker, id, there, until } = await runElsewhere(1);
    const tree = treeOf(worker, there);
    writeFileSync(join(tree, "a.txt"), "two\n");
    worker.host.finish(there, "Changed.");
    await until(() => expect(texts(origin)).toHaveLength(1));
    await until(() => expect(existsSync(tree)).toBe(false));
    const first = treeOf(origin, id);
    // What happens at either server meanwhile is none of its business.
    for (const { project } of [origin, worker]) project.write({ "a.txt": "something else\n" });
    const resumed = origin.call("task", { resume: id, prompt: "And b.txt." });
    await until(() => expect(worker.task(there).state).toBe("resumed.active.working.busy"));
    await resumed;
    expect(readFileSync(join(tree, "a.txt"), "utf8")).toBe("two\n");
    writeFileSync(join(tree, "b.txt"), "new\n");
    worker.host.finish(there, "Changed that, too.");
    await until(() => expect(texts(origin)).toHaveLength(2));
    expect(texts(origin)[1]).toContain("2 files changed");
    const here = treeOf(origin, id);
    expect(here).not.toBe(first);
    expect([readFileSync(join(here, "a.txt"), "utf8"), readFileSync(join(here, "b.txt"), "utf8")]).toEqual([
      "two\n",
      "new\n",
    ]);
    await until(() => expect(workOf(worker)).toEqual([]));
    await until(() => expect(existsSync(tree)).toBe(false));
  });

  test("and was applied is no change any more when more of it is sent: only that is applied", {
    tags: "nightly",
  }, async () => {
    const { origin, worker, id, there, until, clock } = await runElsewhere(1);
    const tree = treeOf(worker, there);
    /** The agent ends a run with this text in the file, and its origin receives that. */
    const end = async (text: string, run: number) => {
      await until(() => expect(worker.task(there).state).toMatch(/\.working\.busy$/));
      writeFileSync(join(tree, "a.txt"), text);
      worker.host.finish(there, `Run ${run}.`);
      await until(() => expect(texts(origin)).toHaveLength(run));
      await until(() => expect(workOf(worker)).toEqual([]));
    };
    const apply = () =>
      applyLeftChanges(
        findLeftWorktree(join(origin.project.top, "..", "worktrees"), origin.task(id), String),
        origin.project.top,
        { isAtWork: async () => false, now: clock.now },
      );
    const resume = async () => {
      const resumed = origin.call("task", { resume: id, prompt: "More." });
      await until(() => expect(origin.task(id).status).toBe("resumed"));
      await resumed;
    };
    await end("one\ntwo\n", 1);
    expect((await apply()).files).toMatchObject([{ path: "a.txt", added: 1 }]);
    await resume();
    await end("one\ntwo\nthree\n", 2);
    expect(texts(origin)[1]).toContain("1 file changed (+1 −0)");
    await resume();
    await end("one\ntwo\nthree\nfour\n", 3);
    expect(texts(origin)[2]).toContain("1 file changed (+2 −0)");
    expect((await apply()).files).toMatchObject([{ path: "a.txt", added: 2 }]);
    expect(origin.project.read("a.txt")).toBe("one\ntwo\nthree\nfour\n");
  });

  test("of nothing leaves the task a worktree at the same commit when it is resumed", async () => {
    const { origin, worker, id, there, until } = await runElsewhere(1);
    const tree = treeOf(worker, there);
    worker.host.finish(there, "Nothing to change.");
    await until(() => expect(texts(origin)).toHaveLength(1));
    await until(() => expect(existsSync(tree)).toBe(false));
    worker.project.write({ "a.txt": "something else\n" });
    worker.project.commit();
    const resumed = origin.call("task", { resume: id, prompt: "Now change it." });
    await until(() => expect(worker.task(there).state).toBe("resumed.active.working.busy"));
    await resumed;
    expect(readFileSync(join(tree, "a.txt"), "utf8")).toBe("one\n");
  });
});
