import { initialTransition, transition } from "xstate";
import type { TaskContext, TaskEvent, TaskInput } from "../../src/machines/task/events.ts";
import { taskMachine } from "../../src/machines/task/machine.ts";
import { toTask } from "../../src/machines/task/view.ts";
import { hasEnded, type Task } from "../../src/task.ts";
import type { Simulation } from "./simulation.ts";

/** The context of a task's chart at the end of each of its runs that has ended. */
const endsOf = (events: TaskEvent[], origin: TaskInput): TaskContext[] => {
  let [snapshot] = initialTransition(taskMachine, origin);
  const ends: TaskContext[] = [];
  for (const event of events) {
    if (event.type === "RESUME" || event.type === "RETRY") ends.push(snapshot.context);
    [snapshot] = transition(taskMachine, snapshot, event);
  }
  return [...ends, snapshot.context].filter(({ completedAt }) => completedAt !== undefined);
};

/**
 * Each instruction of a run that has ended is seen or missed: seen only where a step of the agent began after it, and missed only
 * where none did.
 */
export const wrongFates = ({ host, stage, storage, clocks }: Simulation, stored: readonly Task[]): string[] =>
  stored.flatMap(({ sessionID, ...task }) => {
    const origin = storage.origin(sessionID);
    const record = stage.store.get(sessionID);
    if (!origin || !record || !host.sessionIDs().includes(sessionID)) return [];
    const { messages } = host.at(sessionID);
    const open = hasEnded(task) ? (toTask(record.snapshot, record.task.progress).instructions ?? []) : [];
    const unknown = open
      .filter(({ fate }) => fate === "waiting")
      .map(({ text }) => `nobody knows what became of "${text}"`);
    const wrong = endsOf(stage.store.journal(sessionID), origin).flatMap(({ given = [], completedAt = 0 }) =>
      given.flatMap(({ messageID, seenAt }) => {
        const place = messages.findIndex(({ id }) => id === messageID);
        const instruction = messages[place];
        const steps = messages.filter(
          ({ role, isSummary }, at) => role === "assistant" && !isSummary && instruction !== undefined && at > place,
        );
        // A known limit: one that is stored again after a takeover keeps its place, and is given another time. A step that began
        // before that may have had it, but what is stored no longer says so. In the same millisecond, only the older message that
        // such a step names says that it began before.
        const storedAt = instruction?.createdAt ?? 0;
        const namesOlder = (promptID: string | undefined) =>
          messages.some(({ id, createdAt }, at) => id === promptID && at < place && createdAt <= storedAt);
        const during = steps.filter(
          ({ createdAt, promptID }) =>
            (createdAt > storedAt || (createdAt === storedAt && !namesOlder(promptID))) && createdAt < completedAt,
        );
        const inTime = steps.filter(({ createdAt }) => clocks.areOff() || createdAt <= completedAt);
        // Of what the host stored in one millisecond, nothing says which came first.
        const isTied = messages.some(({ role, createdAt }) => role === "assistant" && createdAt === storedAt);
        if (seenAt !== undefined && inTime.length === 0 && !isTied)
          return `${messageID} counts as seen, and no step began after it`;
        if (seenAt === undefined && during.length > 0 && !clocks.areOff())
          return `${messageID} counts as missed, and the step ${during[0]?.id} began after it`;
        return [];
      }),
    );
    return [...unknown, ...wrong].map((words) => `${sessionID}: ${words}`);
  });
