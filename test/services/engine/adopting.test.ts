import { afterEach, beforeEach, expect, test } from "vitest";
import { createDisk, type Disk } from "../../fakes/disk.ts";
import { createStage, PARENT, type Stage } from "../../fakes/stage.ts";
import { settled } from "../../fakes/virtual-clock.ts";

let disk: Disk;
/** Parents of whose prompts the store has lost what it had. */
let lost: Set<string>;
let stage: Stage;

beforeEach(() => {
  disk = createDisk();
  lost = new Set();
  stage = createStage({
    openStore: (clock) => {
      const store = disk.boot(clock);
      return {
        ...store,
        adopt: (...given) => {
          const abandoned = store.adopt(...given);
          return {
            ...abandoned,
            prompts: abandoned.prompts.filter(({ parentSessionID }) => !lost.has(parentSessionID)),
          };
        },
      };
    },
  });
});

afterEach(() => {
  stage.engine.stop();
  disk.remove();
});

test("a task whose own notice is lost is delivered, though the notice of another one is under way", async () => {
  stage.host.addSession("ses_other", { habit: "lose" });
  stage.host.habits(PARENT, "lose");
  const first = await stage.launch();
  const second = await stage.launch({}, { sessionID: "ses_other" });
  for (const id of [first, second]) stage.host.finish(id, "12");
  await settled();
  lost.add("ses_other");
  await stage.restart();
  for (const id of [PARENT, "ses_other"]) stage.host.habits(id, "reply");
  await stage.clock.advance(120_000);
  expect(stage.notices()).toHaveLength(1);
  expect(stage.notices("ses_other")).toHaveLength(1);
});

test("an agent is not reminded of a call that waited for a task which has ended", async () => {
  const id = await stage.launch();
  stage.host.at(PARENT).toolCalls.set("call_1", "begun");
  void stage.call("output", { task_id: id, block: true }, { callID: "call_1" });
  await settled();
  await stage.finish(id, "12");
  expect(stage.task(id).status).toBe("completed");
  expect(stage.store.get(id)?.snapshot.context.waiters).toEqual(["call_1"]);
  await stage.restart();
  await stage.clock.advance(120_000);
  // The answer of the call is lost, so the end is told, and that is all.
  const sent = stage.host.attempts.filter(({ sessionID }) => sessionID === PARENT);
  expect(sent.filter(({ noReply }) => noReply)).toEqual([]);
  expect(stage.notices()).toHaveLength(1);
});

test("tasks of a lead that a person aborted are cancelled, though its process died before it could do that", async () => {
  const lead = await stage.launch();
  const own = await stage.launch({}, { sessionID: lead });
  stage.engine.subscribe(({ sessionID, status }) => {
    if (sessionID === lead && status === "cancelled") stage.life.die();
  });
  stage.host.abortByPerson(lead);
  await stage.clock.advance(1_000);
  expect([lead, own].map((id) => stage.store.get(id)?.task.status)).toEqual(["cancelled", "running"]);
  expect(stage.life.isOver()).toBe(true);
  await stage.restart();
  await stage.clock.advance(1_000);
  expect(stage.task(own).status).toBe("cancelled");
  expect(stage.host.at(own).busy).toBe(false);
  expect(stage.notices(lead)).toHaveLength(1);
});
