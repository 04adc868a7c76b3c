import { expect, test } from "vitest";
import { createEventBus } from "../../../../src/services/platform/listeners.ts";
import { createOutboxEffects } from "../../../../src/services/runtime/effects/outbox-effects.ts";
import { NO_TASKS } from "../../../fakes/effects.ts";
import { createFakeHost, type FakeHost, missing, refused, unavailable } from "../../../fakes/fake-host.ts";
import { PARENT } from "../../../fakes/stage.ts";
import { createVirtualClock } from "../../../fakes/virtual-clock.ts";
import { createRecordingLog } from "../../store/folder-and-log.ts";
import { noticePrompt } from "../../store/scripted-task.ts";

/** What the outbox is told of the notice that it has sent to a host. */
const send = (prepare: (host: FakeHost) => void) => {
  const clock = createVirtualClock();
  const host = createFakeHost(clock);
  host.addSession(PARENT);
  prepare(host);
  const log = createRecordingLog();
  const { sendNotice } = createOutboxEffects({
    host,
    clock,
    log,
    bus: createEventBus(log),
    reads: host,
    endedBatches: () => [],
    composeNotice: () => noticePrompt("msg_n"),
    reportUndelivered: async () => undefined,
  });
  const prompt = noticePrompt("msg_n");
  const sender = { agent: "build", model: undefined };
  return sendNotice.perform({ type: "sendNotice", parentSessionID: PARENT, prompt, sender }, NO_TASKS);
};

test.each([
  ["was taken", () => undefined, { type: "SENT", messageID: "msg_n" }],
  [
    "was not taken for now",
    (host: FakeHost) => host.failNext("prompt", unavailable),
    { type: "SEND_REFUSED", messageID: "msg_n", retryable: true },
  ],
  [
    "was refused",
    (host: FakeHost) => host.failNext("prompt", refused),
    { type: "SEND_REFUSED", messageID: "msg_n", retryable: false },
  ],
  [
    "found no parent, which is looked for at once",
    (host: FakeHost) => host.failNext("prompt", missing),
    { type: "PARENT_NOT_FOUND", message: missing.message },
  ],
])("a notice that %s is reported as such", async (_, prepare, event) => {
  expect(await send(prepare)).toMatchObject({ type: "OUTBOX", id: PARENT, event });
});
