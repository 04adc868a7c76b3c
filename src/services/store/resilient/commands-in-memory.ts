import { COMMAND_LIFE_MS, type CommandOutcome, type PendingCommand } from "../task-history.ts";

/** Requests that have not been handed to another process, and answers that nobody has fetched. */
export interface CommandsInMemory {
  /** `at` is epoch milliseconds. What is too old by then is forgotten. */
  ask(asked: PendingCommand, at: number): void;
  /** The requests for those tasks that `isMine` names, each once. They are answered here. */
  take(isMine: (taskId: string) => boolean): PendingCommand[];
  /** False when the request is not one that was taken here. */
  answer(id: string, answer: CommandOutcome): boolean;
  takeAnswer(id: string): CommandOutcome | undefined;
  /** True while requests wait to be taken. */
  isWaiting(): boolean;
  /** Gives all that were not taken to `to`, one by one, oldest first; when that throws, the rest stays. */
  handOver(to: (asked: PendingCommand, at: number) => void): void;
}

/** Holds requests within a process. */
export const createCommandsInMemory = (): CommandsInMemory => {
  const waiting = new Map<string, { asked: PendingCommand; at: number }>();
  /** Of requests that were taken here; undefined while there is none. */
  const answers = new Map<string, { answer: CommandOutcome | undefined; at: number }>();

  const forgetOlder = (than: number) => {
    for (const entries of [waiting, answers]) {
      for (const [id, { at }] of entries) if (at < than) entries.delete(id);
    }
  };

  return {
    ask: (asked, at) => {
      forgetOlder(at - COMMAND_LIFE_MS);
      waiting.set(asked.id, { asked, at });
    },
    take: (isMine) => {
      const taken = [...waiting.values()].filter(({ asked }) => isMine(asked.taskId));
      for (const { asked, at } of taken) {
        waiting.delete(asked.id);
        answers.set(asked.id, { answer: undefined, at });
      }
      return taken.map(({ asked }) => asked);
    },
    answer: (id, answer) => {
      const taken = answers.get(id);
      if (!taken) return false;
      answers.set(id, { ...taken, answer });
      return true;
    },
    takeAnswer: (id) => {
      const answer = answers.get(id)?.answer;
      if (answer) answers.delete(id);
      return answer;
    },
    isWaiting: () => waiting.size > 0,
    handOver: (to) => {
      for (const [id, { asked, at }] of waiting) {
        to(asked, at);
        waiting.delete(id);
      }
    },
  };
};
