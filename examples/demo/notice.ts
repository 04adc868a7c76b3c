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

/** The notice that two texts make, the second of them hidden. Nothing when it is about no task. */
export function noticeOf(visible: string, hidden: string): Notice | undefined {
  const taskId = /^Task (ses_\w+) /m.exec(hidden)?.[1];
  const [, run = "0", took = ""] = HEADLINE.exec(visible) ?? [];
  return taskId === undefined ? undefined : { taskId, run: Number(run), took, visible, hidden };
}
