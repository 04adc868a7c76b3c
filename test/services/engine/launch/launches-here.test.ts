import { expect, test } from "vitest";
import { createDurableStage } from "../../../fakes/durable-stage.ts";
import { refused, unavailable } from "../../../fakes/fake-host.ts";
import { createStage, PARENT } from "../../../fakes/stage.ts";
import { settled } from "../../../fakes/virtual-clock.ts";
import { watched } from "../../../fakes/watched.ts";

test("a launch is known from its beginning to its end, with where it is, how it came there and what it is about", async () => {
  const stage = createStage();
  const creating = stage.host.holdNext("createSession");
  const launched = stage.launch({ description: "Mend the parser", agent: "explore" });
  await settled();
  expect(stage.engine.launchesHere()).toEqual([
    {
      id: expect.stringMatching(/^msg_/),
      ...{ parentSessionID: PARENT, directory: "/project", description: "Mend the parser", agent: "explore" },
      states: ["preparing.creating.requesting"],
      since: "2026-01-01T00:00:00.000Z",
      way: {
        passed: ["preparing.waiting"],
        arrivals: {
          preparing: "beginning::3",
          "preparing.creating": "preparing.waiting:TURN_TAKEN:0",
          "preparing.creating.requesting": "preparing.waiting:TURN_TAKEN:0",
        },
      },
    },
  ]);
  creating.release();
  await launched;
  expect(stage.engine.launchesHere()).toEqual([]);
});

test("one that is given up says why, and is known for as long as something of it is left", async () => {
  const stage = createStage();
  stage.host.failNext("createSession", unavailable);
  for (let time = 0; time < 20; time += 1) stage.host.failNext("sessionsSince", unavailable);
  const launched = watched(stage.launch());
  await stage.clock.advance(30_000);
  expect(String(launched.fault)).toContain("did not say whether it created a session");
  const [left] = stage.engine.launchesHere();
  expect(left).toMatchObject({
    id: expect.stringMatching(/^msg_\w+$/),
    states: ["leftBehind.pausing"],
    refusal: expect.stringContaining("OpenCode did not say whether it created a session for the task"),
  });
  expect(left).not.toHaveProperty("description");
  expect(stage.store.launches()).toMatchObject([{ pending: { messageID: left?.id }, of: "own" }]);
  await stage.clock.advance(1_000_000);
  expect(stage.engine.launchesHere()).toEqual([]);
});

test("one that was cut off has the id that it had before, while the next process removes what is left of it", async () => {
  const stage = createDurableStage();
  stage.host.holdNext("createSession");
  void stage.launch().catch(() => undefined);
  await settled();
  const [before] = stage.engine.launchesHere();
  for (let time = 0; time < 20; time += 1) stage.host.failNext("sessionsSince", refused);
  await stage.restart();
  await stage.clock.advance(1_000);
  expect(stage.engine.launchesHere()).toMatchObject([
    { id: before?.id, states: [expect.stringMatching(/^leftBehind/)] },
  ]);
  stage.engine.stop();
});
