import { describe, expect, test } from "vitest";
import { createDisk, createMemory } from "../../fakes/disk.ts";
import { createStage, PARENT, type Stage, stageWithResult, stageWithTask } from "../../fakes/stage.ts";
import { settled } from "../../fakes/virtual-clock.ts";

const HOUR = 3_600_000;

/** The person asks something, and takes it back. Resolves to the ids of the messages that are stored then. */
const undo = async (stage: Stage, sessionID = PARENT): Promise<string[]> => {
  stage.host.converse(sessionID);
  await settled();
  const { messages } = stage.host.at(sessionID);
  stage.host.revert(sessionID, messages.findLast(({ role }) => role === "user")?.id ?? "");
  await settled();
  return messages.map(({ id }) => id);
};

const idsOf = (stage: Stage, sessionID = PARENT) => stage.host.at(sessionID).messages.map(({ id }) => id);

/** What else is posted to a conversation: a note that a task is silent. */
const staleNotes = (stage: Stage) =>
  [...stage.host.at(PARENT).parts.values()].filter(([part]) => part?.text.includes("no sign of life"));

describe("while a person has taken back messages of the parent", () => {
  test("a result waits, which the person is notified of once, and is delivered when nothing is taken back any more", async () => {
    const stage = createStage();
    const [first, second] = [await stage.launch({ description: "count files" }), await stage.launch()];
    const before = await undo(stage);
    stage.host.finish(first, "12");
    await stage.clock.advance(HOUR);
    expect(idsOf(stage)).toEqual(before);
    expect(stage.host.toasts.filter(({ message }) => message.includes("finished"))).toEqual([
      {
        message: expect.stringMatching(
          /Agent "count files" finished.* Its result is delivered when you redo what you took back in the conversation, or write something else there\.$/,
        ),
        variant: "success",
      },
    ]);
    stage.host.finish(second, "13");
    await stage.clock.advance(HOUR);
    expect(idsOf(stage)).toEqual(before);
    stage.host.unrevert(PARENT);
    await settled();
    expect(stage.notices()).toHaveLength(1);
    expect(idsOf(stage).slice(0, before.length)).toEqual(before);
    expect(stage.engine.get(first)?.status).toBe("completed");
  });

  test("the host is asked ever more seldom, and not at all where its events say all", async () => {
    const { stage, id } = await stageWithTask();
    await undo(stage);
    await stage.finish(id, "12");
    const before = stage.host.calls.filter((call) => call !== "busy").length;
    await stage.clock.advance(24 * HOUR);
    const since = stage.host.calls.slice(before).filter((call) => call === "session" || call === "prompt");
    expect(since).toEqual([]);
  });

  test("a result is delivered in the turn of what the person writes instead", async () => {
    const { stage, id } = await stageWithTask();
    await undo(stage);
    await stage.finish(id, "12");
    stage.host.converse(PARENT);
    await stage.clock.advance(5_000);
    expect(stage.notices()).toHaveLength(1);
  });

  test("a result waits over a restart, too", async () => {
    const disk = createDisk();
    const { stage, id } = await stageWithTask({ openStore: disk.boot });
    const before = await undo(stage);
    await stage.finish(id, "12");
    await stage.restart();
    await stage.clock.advance(HOUR);
    expect(idsOf(stage)).toEqual(before);
    stage.host.unrevert(PARENT);
    await stage.clock.advance(1_000);
    expect(stage.notices()).toHaveLength(1);
  });

  test("a change of which no event comes, as where another process made it, is seen within ten minutes", async () => {
    let isAlone = true;
    const { boot } = createMemory();
    const { stage, id } = await stageWithTask({
      openStore: (clock) => Object.assign(boot(clock), { isAlone: () => isAlone }),
    });
    await undo(stage);
    stage.host.finish(id, "12");
    await stage.clock.advance(HOUR);
    isAlone = false;
    stage.host.at(PARENT).revertedTo = undefined;
    await stage.clock.advance(600_000);
    expect(stage.notices()).toHaveLength(1);
  });

  test("no reminder and no note about a silent task is posted until then", async () => {
    const stage = createStage({ timeouts: { stale: 60_000 } });
    await stage.launch();
    const before = await undo(stage);
    stage.host.emit({ type: "compacted", sessionID: PARENT });
    await stage.clock.advance(600_000);
    expect(idsOf(stage)).toEqual(before);
    stage.host.unrevert(PARENT);
    await stage.clock.advance(5_000);
    expect(idsOf(stage).length).toBe(before.length + 2);
    expect(staleNotes(stage)).toHaveLength(1);
  });
});

describe("an archived parent", () => {
  test("is not woken, and has the result once it is taken out of the archive", async () => {
    const { stage, id } = await stageWithTask();
    stage.host.converse(PARENT);
    stage.host.archive(PARENT);
    const before = idsOf(stage);
    stage.host.finish(id, "12");
    await stage.clock.advance(HOUR);
    expect(idsOf(stage)).toEqual(before);
    expect(stage.host.toasts[0]?.message).toMatch(
      /Its result is delivered when somebody writes to its conversation, which is archived\.$/,
    );
    stage.host.archive(PARENT, false);
    await settled();
    expect(stage.notices()).toHaveLength(1);
  });

  test("is in use once somebody has written to it, though it stays in the archive, until it is archived again", async () => {
    const stage = createStage();
    const [first, second, third] = [await stage.launch(), await stage.launch(), await stage.launch()];
    stage.host.archive(PARENT);
    stage.host.finish(first, "12");
    await stage.clock.advance(1_000);
    expect(stage.notices()).toHaveLength(0);
    stage.host.converse(PARENT);
    await stage.clock.advance(1_000);
    expect(stage.notices()).toHaveLength(1);
    stage.host.finish(second, "13");
    await stage.clock.advance(1_000);
    expect(stage.notices()).toHaveLength(2);
    stage.host.archive(PARENT);
    stage.host.finish(third, "14");
    await stage.clock.advance(HOUR);
    expect(stage.notices()).toHaveLength(2);
  });

  test("gets no note about a silent task", async () => {
    const stage = createStage({ timeouts: { stale: 60_000 } });
    await stage.launch();
    stage.host.archive(PARENT);
    await stage.clock.advance(600_000);
    expect(staleNotes(stage)).toEqual([]);
    stage.host.converse(PARENT);
    await stage.clock.advance(10_000);
    expect(staleNotes(stage)).toHaveLength(1);
  });

  test("gets no note about a silence that another one has followed, only about that", async () => {
    const { stage, id } = await stageWithTask({ timeouts: { stale: 60_000 } });
    stage.host.archive(PARENT);
    // The note about the first silence waits for the next look at the parent, which is minutes away by now.
    await stage.clock.advance(600_000);
    stage.host.emit({ type: "busy", sessionID: id });
    await stage.clock.advance(90_000);
    stage.host.converse(PARENT);
    await stage.clock.advance(10_000);
    expect(staleNotes(stage).map(([part]) => part?.text)).toEqual([
      expect.stringContaining("no sign of life for 1m 30s"),
    ]);
  });
});

describe("a turn that a person stops", () => {
  /** A parent at work, to which a notice comes; then the person stops the turn. */
  const stopped = async () => {
    const stage = createStage();
    const [first, second] = [await stage.launch(), await stage.launch()];
    stage.host.habits(PARENT, "work");
    await stage.host.prompt({
      sessionID: PARENT,
      messageID: "msg_0",
      parts: [{ id: "prt_0", text: "work", synthetic: false }],
      agent: "build",
      model: undefined,
    });
    await settled();
    stage.host.finish(first, "12");
    await stage.clock.advance(1_000);
    expect(stage.notices()).toHaveLength(2);
    stage.host.abortByPerson(PARENT);
    const prompts = () => stage.notices().length;
    return { stage, first, second, prompts, before: prompts() };
  };

  test("is not begun anew by a notice that it was to read, however long that lasts", async () => {
    const { stage, prompts, before } = await stopped();
    await stage.clock.advance(24 * HOUR);
    expect(prompts()).toBe(before);
    expect(stage.host.at(PARENT).busy).toBe(false);
  });

  test("leaves the notice to the next turn of the person, which acknowledges it", async () => {
    const { stage, first, prompts, before } = await stopped();
    await stage.clock.advance(HOUR);
    stage.host.converse(PARENT);
    await stage.clock.advance(60_000);
    expect(prompts()).toBe(before);
    expect(await stage.call("task", { resume: first, prompt: "And now?" })).not.toContain("cannot be resumed");
  });

  test("is followed by a new one when another task ends later", async () => {
    const { stage, second } = await stopped();
    await stage.clock.advance(HOUR);
    stage.host.habits(PARENT, "reply");
    stage.host.finish(second, "13");
    await stage.clock.advance(60_000);
    expect(stage.notices()).toHaveLength(3);
  });
});

describe("while a person has taken back messages of a task's own conversation", () => {
  test("it is not resumed: the agent is told why, and what the person can do", async () => {
    const { stage, id } = await stageWithResult("12");
    await stage.clock.advance(1_000);
    const before = await undo(stage, id);
    await expect(stage.call("task", { resume: id, prompt: "And now?" })).rejects.toThrow(
      `The user has taken back messages of task ${id} (undo), which a resume would delete for good.`,
    );
    expect(idsOf(stage, id)).toEqual(before);
    stage.host.unrevert(id);
    await stage.call("task", { resume: id, prompt: "And now?" });
    await settled();
    expect(stage.task(id).resumeCount).toBe(1);
  });

  /** A task whose answer is checked by a gate, which fails once it is let go on. */
  const gated = async () => {
    let end: () => void = () => undefined;
    const checked = new Promise<void>((resolve) => {
      end = resolve;
    });
    const { stage, id } = await stageWithTask({
      gate: { agents: { general: "check" }, tries: 2, timeout: HOUR },
      runCommand: async () => {
        await checked;
        return { end: "exited", exit: 1, output: "no" };
      },
    });
    await stage.finish(id, "12");
    const newest = stage.host.at(id).messages.findLast(({ role }) => role === "user");
    stage.host.revert(id, newest?.id ?? "");
    end();
    await stage.clock.advance(1_000);
    return { stage, id };
  };

  test("what is still to be said to it is said when nothing is taken back any more", async () => {
    const { stage, id } = await gated();
    await stage.clock.advance(HOUR / 2);
    expect(stage.host.at(id).prompts).toHaveLength(1);
    expect(stage.host.at(id).revertedTo).toBeDefined();
    stage.host.unrevert(id);
    await settled();
    expect(stage.host.at(id).prompts).toHaveLength(2);
  });

  test("what was to be said to it is not said once the task is cancelled", async () => {
    const { stage, id } = await gated();
    await stage.call("cancel", { task_id: id });
    await stage.clock.advance(60_000);
    expect(stage.task(id).status).toBe("cancelled");
    stage.host.unrevert(id);
    await stage.clock.advance(HOUR);
    expect(stage.host.at(id).prompts).toHaveLength(1);
  });
});
