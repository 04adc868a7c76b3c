import { describe, expect, test } from "vitest";
import { refused, unavailable } from "../../fakes/fake-host.ts";
import { createStage, PARENT, type Stage } from "../../fakes/stage.ts";
import { watched } from "../../fakes/watched.ts";

/** The message that a forked child reads before its first prompt, in each time that it was sent. */
const preambles = ({ host }: Stage) => host.attempts.filter(({ parts }) => parts[0]?.text.includes("may be truncated"));

/** Launches a fork, and lets its preamble be sent as often as it takes. */
const launchFork = async (stage: Stage) => {
  const launched = watched(stage.launch({ fork: true }));
  await stage.clock.advance(60_000);
  return launched;
};

const forms = {
  "a fork": () => undefined,
  "a conversation as text": ({ host }: Stage) => host.failNext("fork", refused),
};

describe.each(Object.entries(forms))("the preamble of %s", (_, prepare) => {
  test("is sent with the same ids until it is stored, and once there", async () => {
    const stage = createStage();
    prepare(stage);
    stage.host.failNext("storeMessage", unavailable, 2);
    const id = String((await launchFork(stage)).value);
    const sent = preambles(stage);
    expect(sent).toHaveLength(3);
    expect(new Set(sent.map(({ messageID, parts }) => `${messageID} ${parts[0]?.id}`)).size).toBe(1);
    const [first, second] = [...stage.host.at(id).parts.values()];
    expect(first?.[0]?.text).toContain("may be truncated");
    expect(second?.[0]?.text).toBe("Find it.");
    expect(stage.task(id)).toMatchObject({ isForked: true, status: "running" });
  });

  test("is sent again when the message is there without its part", async () => {
    const stage = createStage();
    prepare(stage);
    const { message } = stage.host;
    Object.assign(stage.host, {
      message: async (...asked: [string, string]) => {
        if (asked[0] === PARENT) return message(...asked);
        Object.assign(stage.host, { message });
        const found = await message(...asked);
        return found.ok ? { ok: true, value: { ...found.value, partIDs: [] } } : found;
      },
    });
    const { value: id } = await launchFork(stage);
    expect(preambles(stage)).toHaveLength(2);
    expect(stage.task(String(id)).status).toBe("running");
  });

  test("when it never gets there, the launch is refused in words, and nothing is left", async () => {
    const stage = createStage();
    prepare(stage);
    stage.host.failNext("storeMessage", unavailable, 20);
    const { fault } = await launchFork(stage);
    expect(String(fault)).toMatch(/created no session for the task: its preamble could not be stored in 6 attempts/);
    expect(stage.host.sessionIDs()).toEqual([PARENT]);
    expect(stage.engine.list({})).toEqual([]);
  });
});
