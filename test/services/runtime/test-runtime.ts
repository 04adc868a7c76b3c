import type { NoticePrompt, OutboxEvent } from "../../../src/machines/outbox/events.ts";
import type { TaskEvent } from "../../../src/machines/task/events.ts";
import { createEventBus } from "../../../src/services/platform/listeners.ts";
import type { Effects, EngineEvents } from "../../../src/services/runtime/effects.ts";
import { createProgressLog } from "../../../src/services/runtime/progress.ts";
import { createRuntime } from "../../../src/services/runtime/runtime.ts";
import { createMemory } from "../../fakes/disk.ts";
import { createFakeEffects } from "../../fakes/effects.ts";
import { taskInput } from "../../fakes/task-input.ts";
import { createVirtualClock } from "../../fakes/virtual-clock.ts";
import { createRecordingLog } from "../store/folder-and-log.ts";
import { noticePrompt, START, scriptTask } from "../store/scripted-task.ts";

/** The parent of all tasks of a test runtime. */
export const PARENT = "ses_parent";

/** A parent that is ready to be sent a notice. */
export const PARENT_READY = {
  type: "PARENT_READ",
  sender: { agent: "build", model: undefined },
  othersRun: false,
} as const;

interface Options {
  /** Carries out an effect; by default it leads to nothing. */
  perform?: Effects["perform"] | undefined;
  effects?: Partial<Effects> | undefined;
  inspect?: Parameters<typeof createRuntime>[0]["inspect"];
  /** Returns how far the clock was set back, in ms. */
  setBack?: () => number;
}

/** A runtime that shares its `store` with another process, which has it as `other`. All events happen at `START`. */
export const testRuntime = ({ perform = () => undefined, effects = {}, inspect, setBack = () => 0 }: Options = {}) => {
  const clock = createVirtualClock(START);
  const memory = createMemory();
  memory.keepAlive();
  const [store, other] = [memory.boot(clock), memory.boot(clock)];
  const log = createRecordingLog();
  const bus = createEventBus<EngineEvents>(log);
  const progress = createProgressLog();
  const asked: string[] = [];
  const sent: NoticePrompt["runs"][] = [];
  const begun: string[] = [];
  const fake = createFakeEffects((effect) => {
    asked.push(effect.type);
    if (effect.type === "sendNotice") sent.push(effect.prompt.runs);
    return perform(effect);
  });
  const runtime = createRuntime({
    ...{ store, log, bus, progress },
    clock: { ...clock, now: () => clock.now() - setBack() },
    effects: { ...fake, ...effects },
    inspect: (event) => {
      if (event.type === "@xstate.actor") begun.push(String(Reflect.get(event.actorRef, "id")));
      inspect?.(event);
    },
  });
  const send = (id: string, ...events: object[]) => {
    for (const event of events) runtime.send(id, { at: START, ...event } as TaskEvent);
  };
  return {
    ...{ clock, memory, store, other, log, bus, progress, runtime, asked, sent, begun, send },
    launch: (id = "ses_1", facts: Parameters<typeof taskInput>[1] = {}) =>
      runtime.dispatch({ type: "LAUNCH", at: START, task: taskInput(id, facts, START) }),
    /** Has these tasks at work, each as a process stored it. */
    restore: (...ids: string[]) => {
      for (const task of ids.map((id) => scriptTask(id))) {
        store.commit(task.launch());
        runtime.restore(task.record());
      }
    },
    /** Has the run of a task at work answered. */
    answer: (id: string) =>
      send(id, { type: "HOST_IDLE" }, { type: "CHECKED_ANSWERED", checkId: 1, completedAt: START, result: "12" }),
    /** Events of the parent's outbox. */
    inOutbox: (...events: object[]) => {
      for (const event of events)
        runtime.dispatch({ type: "OUTBOX", id: PARENT, event: { at: START, ...event } as OutboxEvent });
    },
  };
};

/** Composes each notice as the prompt `msg_n` of all that is owed. */
export const composeNotice: Effects["perform"] = (effect) => {
  if (effect.type !== "composeNotice") return undefined;
  const runs = effect.queue.map(({ taskId, run }) => ({ taskId, run }));
  const prompt = { ...noticePrompt("msg_n"), runs };
  return { type: "OUTBOX", id: effect.parentSessionID, event: { type: "COMPOSED", at: START, prompt } };
};
