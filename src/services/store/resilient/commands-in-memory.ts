import { COMMAND_LIFE_MS, type CommandOutcome, type PendingCommand } from "../store.ts";

/** Keeps commands that are not in the file: those of this process for its own tasks, and those to be written later. */
export const createCommandsInMemory = () => {
  const waiting = new Map<string, { command: PendingCommand; at: number }>();
  /** Of each command taken here; undefined until it was carried out. */
  const outcomes = new Map<string, { outcome: CommandOutcome | undefined; at: number }>();

  const dropOlder = (than: number) => {
    for (const entries of [waiting, outcomes]) {
      for (const [id, { at }] of entries) if (at < than) entries.delete(id);
    }
  };

  return {
    /** `at` is epoch milliseconds. Drops the commands that have outlived `COMMAND_LIFE_MS` by then. */
    submit: (command: PendingCommand, at: number) => {
      dropOlder(at - COMMAND_LIFE_MS);
      waiting.set(command.id, { command, at });
    },
    /** Takes the commands for the tasks for which `isMine` returns true, each once. Their outcomes are kept here. */
    take: (isMine: (taskId: string) => boolean): PendingCommand[] => {
      if (waiting.size === 0) return [];
      const taken = [...waiting.values()].filter(({ command }) => isMine(command.taskId));
      for (const { command, at } of taken) {
        waiting.delete(command.id);
        outcomes.set(command.id, { outcome: undefined, at });
      }
      return taken.map(({ command }) => command);
    },
    /** False when the command was not taken here. */
    storeOutcome: (id: string, outcome: CommandOutcome): boolean => {
      const taken = outcomes.get(id);
      if (!taken) return false;
      outcomes.set(id, { ...taken, outcome });
      return true;
    },
    takeOutcome: (id: string): CommandOutcome | undefined => {
      const outcome = outcomes.get(id)?.outcome;
      if (outcome) outcomes.delete(id);
      return outcome;
    },
    /** True while there are commands that nobody has taken. */
    hasWaiting: () => waiting.size > 0,
    /** Passes all commands that nobody has taken to `to`, oldest first. When that throws, the rest stays. */
    handOver: (to: (command: PendingCommand, at: number) => void) => {
      for (const [id, { command, at }] of waiting) {
        to(command, at);
        waiting.delete(id);
      }
    },
  };
};
