import type { Clock } from "../../services/platform/clock.ts";
import { hasEnded, type ListedTask } from "../../task.ts";

/** How often in a row a question is answered in full while nothing changes: a second look is no polling yet. */
const FULL_ANSWERS = 2;

/** Milliseconds after which the same question is a new one: a person may have asked the agent meanwhile. */
const FORGOTTEN_AFTER_MS = 600_000;

interface Question {
  /** What there was to know when it was asked last. */
  known: string;
  times: number;
  /** When it was asked last, epoch milliseconds. */
  at: number;
}

/** What tells an agent something new. What a task at work has done so far does not: that changes all the time. */
const stateOf = ({ sessionID, status, resumeCount, attention, waiting, server }: ListedTask) => [
  ...[sessionID, status, resumeCount, attention, waiting?.for, server],
];

/** Creates the memory of what agents ask again and again: each answer costs tokens, in this request and in all that follow. */
export const createRepeatedQuestions = (clock: Clock) => {
  const questions = new Map<string, Question>();
  return {
    /**
     * Counts a question of a session about tasks. Returns true from the third time on that it is asked in vain: some of the tasks
     * run, none has changed since, and the last time was less than ten minutes ago.
     */
    isRepeated: (sessionID: string, question: string, tasks: readonly ListedTask[]): boolean => {
      const at = clock.now();
      for (const [key, asked] of questions) if (at - asked.at > FORGOTTEN_AFTER_MS) questions.delete(key);
      const key = `${sessionID} ${question}`;
      const known = JSON.stringify(tasks.map(stateOf));
      const before = questions.get(key);
      const times = before?.known === known ? before.times + 1 : 1;
      questions.set(key, { known, times, at });
      return times > FULL_ANSWERS && !tasks.every(hasEnded);
    },
  };
};

export type RepeatedQuestions = ReturnType<typeof createRepeatedQuestions>;
