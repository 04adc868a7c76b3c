import { describe, expect, test } from "vitest";
import type { UserRequest } from "../../../src/machines/task/events.ts";
import { unavailable } from "../../fakes/fake-host.ts";
import { expectOnce, runElsewhere, workOf } from "./servers.ts";

describe("what an agent asks on another server", () => {
  const PERMISSION: UserRequest = { id: "per_1", kind: "permission", what: "bash: make", since: 0, always: ["make"] };

  /** The agent of a task asks, and the person at the origin is shown it. */
  const asked = async () => {
    const world = await runElsewhere();
    const { origin, worker, id, there, until } = world;
    worker.host.emit({ type: "asked", sessionID: there, request: PERMISSION });
    await until(() => expect(origin.task(id).attention).toMatchObject({ kind: "permission", what: "bash: make" }));
    return world;
  };

  test("is answered at the origin, and the agent goes on", async () => {
    const world = await asked();
    const { origin, worker, id, there, until } = world;
    expect(origin.host.attempts.filter(({ noReply }) => noReply)).toHaveLength(1);
    const answered = await origin.engine.answer(id, { requestId: "per_1", reply: "once" });
    expect(answered).toEqual({ ok: true, value: undefined });
    await until(() => expect(worker.host.answers).toEqual([{ id: "per_1", reply: "once" }]));
    await until(() => expect(origin.task(id).attention).toBeUndefined());
    worker.host.finish(there, "made");
    await expectOnce(world, [worker], "made");
    expect(worker.host.answers).toHaveLength(1);
  });

  test("gets the answer from its origin though the host there could not take it at first", async () => {
    const { origin, worker, id, until } = await asked();
    worker.host.failNext("answerUserRequest", unavailable, 2);
    await origin.engine.answer(id, { requestId: "per_1", reply: "once" });
    await until(() => expect(worker.host.answers).toEqual([{ id: "per_1", reply: "once" }]));
    await until(() => expect(origin.task(id).attention).toBeUndefined());
  });

  test("may be answered there as well: then nobody at the origin is asked any more", async () => {
    const { origin, worker, id, there, until } = await asked();
    worker.host.emit({ type: "replied", sessionID: there, requestID: "per_1" });
    await until(() => expect(origin.task(id).attention).toBeUndefined());
    expect(await origin.engine.answer(id, { requestId: "per_1", reply: "once" })).toMatchObject({ ok: false });
  });

  test("is asked no more when that server dies, for another begins anew", async () => {
    const { origin, worker, other, id, until } = await asked();
    worker.life.die();
    await until(() => expect(workOf(other)).toHaveLength(1));
    await until(() => expect(origin.task(id).attention).toBeUndefined());
    expect(origin.task(id).state).toBe("running.fleet.claimed");
  });

  test("is asked again when the server at the origin has been restarted", async () => {
    const { origin, worker, id, until } = await asked();
    await origin.restart();
    await until(() => expect(origin.task(id).attention).toMatchObject({ what: "bash: make" }));
    await origin.engine.answer(id, { requestId: "per_1", reply: "reject", message: "Not now." });
    await until(() => expect(worker.host.answers).toHaveLength(1));
  });

  test("is rejected where nobody is there to be asked", async () => {
    const { worker, there, until } = await runElsewhere(1, 1, { isHeadless: true });
    worker.host.emit({ type: "asked", sessionID: there, request: PERMISSION });
    await until(() =>
      expect(worker.host.answers).toEqual([{ id: "per_1", reply: "reject", message: expect.any(String) }]),
    );
  });
});
