/** A notice: the message that delivers the result of one run to the agent. */
export type Notice = {
  taskId: string;
  /** 0 for the first run of a task, n for its resume #n. */
  run: number;
  /** How long the run took, in the notice's own words. */
  took: string;
  /** What the person sees. */
  visible: string;
  /** What only the model gets. */
  hidden: string;
};

const HEADLINE = /\*\*(?:Agent ".*"|Resume #(\d+)) (?:finished in|completed in|failed in|cancelled after) (.*)\.\*\*/;

/** Whether a text is the part of a notice that the person sees. */
export const isHeadline = (text: string): boolean => HEADLINE.test(text);

/** The notices that the texts of a message make, one for each run. The hidden text names the tasks in the same order. */
export function noticesOf(visible: string[], hidden: string): Notice[] {
  const taskIds = [...hidden.matchAll(/^Task (ses_\w+) /gm)].map(([, id = ""]) => id);
  return taskIds.map((taskId, index) => {
    const [, run = "0", took = ""] = HEADLINE.exec(visible[index] ?? "") ?? [];
    return { taskId, run: Number(run), took, visible: visible[index] ?? "", hidden };
  });
}
