import { expect, test } from "vitest";
import {
  type RemoteOperations,
  runRemoteCommands,
} from "../../../../src/services/engine/operations/remote-commands.ts";
import { fail } from "../../../../src/services/platform/result.ts";
import type { CommandOutcome, PendingCommand, Store } from "../../../../src/services/store/store.ts";
import { settled } from "../../../fakes/virtual-clock.ts";
import { createRecordingLog } from "../../store/folder-and-log.ts";
import { scriptTask } from "../../store/scripted-task.ts";

const story = scriptTask("ses_1", { parentSessionID: "ses_parent" });
story.launch();
const { task } = story.record();
const done = { ok: true, value: task } as const;

/** Operations that all do as they are told. */
const WILLING: RemoteOperations = {
  get: () => task,
  cancel: async () => [{ task }],
  pause: async () => [{ task }],
  continue: async () => [{ task }],
  resume: async () => done,
  retry: async () => done,
  steer: () => done,
  answer: async () => ({ ok: true, value: undefined }),
};

/** What becomes of a command for `ses_1`, and what was logged. */
const execute = async (
  command: PendingCommand["command"],
  operations: Partial<RemoteOperations> = {},
  storeOutcome?: () => never,
) => {
  const outcomes: [id: string, outcome: CommandOutcome][] = [];
  const log = createRecordingLog();
  const store: Pick<Store, "takeCommands" | "storeOutcome"> = {
    takeCommands: () => [{ id: "req_1", taskId: "ses_1", command }],
    storeOutcome: storeOutcome ?? ((id, outcome) => void outcomes.push([id, outcome])),
  };
  runRemoteCommands({ store, log }, { ...WILLING, ...operations });
  await settled();
  return { outcomes, errors: log.errors };
};

const COMMANDS: Readonly<Record<PendingCommand["command"]["kind"], PendingCommand["command"]>> = {
  cancel: { kind: "cancel" },
  pause: { kind: "pause" },
  continue: { kind: "continue" },
  resume: { kind: "resume", prompt: "And now?" },
  retry: { kind: "retry" },
  steer: { kind: "steer", prompt: "Only the tests." },
  answer: { kind: "answer", answer: { requestId: "per_1", reply: "once" } },
};

test.each(Object.values(COMMANDS))("what is done as asked is stored as done: $kind", async (command) => {
  expect(await execute(command)).toEqual({ outcomes: [["req_1", {}]], errors: [] });
});

const refusal = fail("It runs.");
const hostFailure = fail("OpenCode did not answer.", "host");
const kaboom = () => {
  throw new Error("kaboom");
};

test.each<[string, keyof typeof COMMANDS, Partial<RemoteOperations>, CommandOutcome]>([
  ["a task that is gone", "cancel", { get: () => undefined }, { refused: "Task ses_1 no longer exists." }],
  [
    "a cancel that is refused",
    "cancel",
    { cancel: async () => [{ task, refused: "has ended" }] },
    { refused: "Task ses_1 has ended." },
  ],
  ["a resume that is refused", "resume", { resume: async () => refusal }, { refused: "It runs." }],
  ["a retry that is refused", "retry", { retry: async () => refusal }, { refused: "It runs." }],
  ["an instruction that is refused", "steer", { steer: () => refusal }, { refused: "It runs." }],
  ["an answer that is refused", "answer", { answer: async () => refusal }, { refused: "It runs." }],
  [
    "a failure of OpenCode's",
    "answer",
    { answer: async () => hostFailure },
    { refused: "OpenCode did not answer.", liesWith: "host" },
  ],
  ["a fault of ours", "steer", { steer: kaboom }, { refused: "A fault in opencode-taskchart: kaboom" }],
])("whoever asked learns of %s", async (_, kind, operations, outcome) => {
  expect(await execute(COMMANDS[kind], operations)).toEqual({ outcomes: [["req_1", outcome]], errors: [] });
});

test("what cannot be stored is logged with the command", async () => {
  const { errors } = await execute(COMMANDS.cancel, {}, kaboom);
  expect(errors).toEqual([expect.stringMatching(/outcome of a command.*req_1.*kaboom/)]);
});

test("a resume, a retry and an instruction are those of the task's parent, and an instruction is a person's", async () => {
  const asked: unknown[] = [];
  const note = <T>(request: unknown, answer: T): T => {
    asked.push(request);
    return answer;
  };
  await execute(COMMANDS.steer, { steer: (request) => note(request, done) });
  await execute(COMMANDS.resume, { resume: async (request) => note(request, done) });
  await execute({ kind: "retry", prompt: "The key is renewed." }, { retry: async (request) => note(request, done) });
  const { parentSessionID } = task;
  expect(asked).toMatchObject([
    { parentSessionID, taskId: "ses_1", prompt: "Only the tests.", from: "user" },
    { parentSessionID, taskId: "ses_1", prompt: "And now?", agent: undefined },
    { parentSessionID, taskId: "ses_1", prompt: "The key is renewed.", agent: undefined },
  ]);
});
