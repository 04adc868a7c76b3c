import { initialTransition, transition } from "xstate";
import type { NoticePrompt } from "../../../src/machines/outbox/events.ts";
import type { TaskEvent } from "../../../src/machines/task/events.ts";
import { type TaskSnapshot, taskMachine } from "../../../src/machines/task/machine.ts";
import { toTask } from "../../../src/machines/task/view.ts";
import type { Change, TaskRecord } from "../../../src/services/store/store.ts";
import { noProgress, type TaskFacts } from "../../../src/task.ts";
import { START, taskInput } from "../../fakes/task-input.ts";

export { START };

/** The life of a task, played by its machine. Each step returns the change that a runtime would store. */
export interface ScriptedTask {
  id: string;
  /** Returns the newest record. */
  record(): TaskRecord;
  /** Returns all events so far. */
  events(): TaskEvent[];
  /** The task is launched, and at work. */
  launch(): Change;
  /** The provider refuses the child for now, OpenCode asks it again, and it answers. */
  refuse(until: number): Change;
  askAgain(): Change;
  hearAnswer(): Change;
  /** The child answers. The result is not delivered yet. */
  answer(result?: string): Change;
  /** The result is delivered, and the task at rest. */
  deliver(): Change;
  /** All of the above in one change. */
  whole(): Change;
  resume(): Change;
  /** OpenCode accepts the prompt of the resumed run. */
  accept(): Change;
}

export type ScriptedTaskOptions = Partial<
  Pick<
    TaskFacts,
    | "parentSessionID"
    | "parentTaskId"
    | "batchId"
    | "prompt"
    | "agent"
    | "model"
    | "directory"
    | "description"
    | "isForked"
  >
> & {
  /** Milliseconds from `START` to the launch; the task ends a second later. */
  after?: number;
};

const merged = (changes: Change[]): Change => ({
  records: changes.flatMap(({ records }) => records).slice(-1),
  journal: changes.flatMap(({ journal }) => journal),
  prompts: [],
});

export const scriptTask = (id: string, { after = 0, ...given }: ScriptedTaskOptions = {}): ScriptedTask => {
  const at = START + after;
  const { facts, run } = taskInput(id, given, at);
  let snapshot: TaskSnapshot = initialTransition(taskMachine, { facts, run })[0];
  const past: TaskEvent[] = [];

  const record = (): TaskRecord => ({
    task: toTask(snapshot, noProgress(facts.startedAt)),
    snapshot: { value: snapshot.value, context: snapshot.context },
  });

  const chapter = (...events: TaskEvent[]): Change => {
    for (const event of events) {
      const [next] = transition(taskMachine, snapshot, event);
      if (next === snapshot) throw new Error(`${event.type} was refused`);
      snapshot = next;
    }
    past.push(...events);
    return { records: [record()], journal: events.map((event) => ({ taskId: id, event })), prompts: [] };
  };

  const launch = () => chapter({ type: "SLOT_GRANTED", at }, { type: "PROMPT_ACCEPTED", at });
  const answer = (result = "It is in a.ts.") => {
    const begun = chapter({ type: "HOST_IDLE", at: at + 900 });
    const { checkId } = snapshot.context;
    const end = chapter({ type: "CHECKED_ANSWERED", at: at + 1_000, checkId, completedAt: at + 1_000, result });
    return merged([begun, end]);
  };
  const told = () =>
    chapter({ type: "NOTICE_COMPOSED", at: at + 1_000 }, { type: "NOTICE_ACKNOWLEDGED", at: at + 1_100 });

  return {
    id,
    record,
    events: () => [...past],
    launch,
    refuse: (until) => chapter({ type: "HOST_RETRYING", at, attempt: 1, message: "slow down", until }),
    askAgain: () => chapter({ type: "HOST_BUSY", at: at + 500 }),
    hearAnswer: () => chapter({ type: "HOST_ANSWERING", at: at + 600 }),
    answer,
    deliver: told,
    whole: () => merged([launch(), answer(), told()]),
    resume: () =>
      chapter({ type: "RESUME", at: at + 2_000, messageID: "msg_more", partID: "prt_more", prompt: "more" }),
    accept: () => chapter({ type: "SLOT_GRANTED", at: at + 2_000 }, { type: "PROMPT_ACCEPTED", at: at + 2_100 }),
  };
};

/** Creates a notice prompt. */
export const noticePrompt = (messageID: string): NoticePrompt => ({
  messageID,
  parts: [{ id: `prt_${messageID}`, text: "done", synthetic: false }],
  runs: [],
  toasts: [],
});
