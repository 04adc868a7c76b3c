import { expect, test } from "vitest";
import { createTaskEffects } from "../../../../src/services/runtime/effects/task-effects.ts";
import { NO_TASKS } from "../../../fakes/effects.ts";
import { createFakeHost } from "../../../fakes/fake-host.ts";
import { createVirtualClock } from "../../../fakes/virtual-clock.ts";
import { createRecordingLog } from "../../store/folder-and-log.ts";

test("a session that is stopped gets its open requests rejected, with the reason; one that is closed is no hindrance", async () => {
  const clock = createVirtualClock();
  const host = createFakeHost(clock);
  host.addSession("ses_1", { habit: "mute" });
  await host.prompt({ sessionID: "ses_1", messageID: "msg_1", parts: [], agent: undefined, model: undefined });
  const requests = ["per_1", "per_closed"].map(
    (id) => ({ id, kind: "permission", what: "bash: rm", since: 0 }) as const,
  );
  for (const request of requests) host.emit({ type: "asked", sessionID: "ses_1", request });
  host.emit({ type: "replied", sessionID: "ses_1", requestID: "per_closed" });
  const { stopSession } = createTaskEffects({
    host,
    clock,
    log: createRecordingLog(),
    observedAnswers: { answerOf: () => undefined },
    takeSlot: () => true,
    expectInstruction: () => undefined,
  });
  const effect = { type: "stopSession", sessionID: "ses_1", messageID: "msg_1", requests } as const;
  const answer = await stopSession.perform({ ...effect, requests: [...requests] }, NO_TASKS);
  expect(answer).toMatchObject({ type: "TASK", id: "ses_1", event: { type: "STOPPED" } });
  expect(host.answers).toEqual([{ id: "per_1", reply: "reject", message: "The task is cancelled." }]);
  expect(host.openRequests.size).toBe(0);
});
