import type { NoticePrompt } from "../../src/machines/outbox/events.ts";
import type { Prompt } from "../../src/machines/task/events.ts";
import type { Task } from "../../src/task.ts";
import type { FakeHost } from "../fakes/fake-host.ts";
import type { AbandonedRuns } from "./abandoned-runs.ts";
import type { TaskObservations } from "./observations.ts";

/** How often, and in which ways, the result of one run was delivered. */
interface DeliveryCounts {
  /** Notices in the parent's conversation. */
  notices: number;
  /** Stored answers of tool calls that waited for the result, or replaced the notice that was due. */
  byWaiting: number;
  /** Stored answers of tool calls that showed a result which had been, or was being, delivered. */
  byReading: number;
  /** The log reports that its notice was refused too often and given up. */
  isGivenUp: boolean;
}

const ENDED = /^Task (\S+) (completed|failed|was cancelled)\.$/gm;

const WORDS: Record<string, Task["status"]> = { completed: "completed", failed: "error", "was cancelled": "cancelled" };

/** Returns the results that a prompt reports, according to its hidden parts. */
const endsIn = ({ parts }: Prompt): { taskId: string; status: Task["status"] | undefined }[] =>
  parts
    .filter(({ synthetic, text }) => synthetic && text.startsWith("Automated notice."))
    // A result may look like a notice, but each of its lines is quoted.
    .flatMap(({ text }) =>
      [...text.matchAll(ENDED)].map(([, taskId = "", words = ""]) => ({ taskId, status: WORDS[words] })),
    );

const keyOf = (taskId: string, run: number): string => `${taskId}/${run}`;

interface DeliveryParts {
  host: FakeHost;
  tracks: TaskObservations;
  abandonedRuns: AbandonedRuns;
  /** True where the host ends with its agent's answer, so that no end waits for others. */
  isHeadless: boolean;
  /** True while processes may know nothing of each other's tasks: the file cannot be used. */
  mayBeUnaware(): boolean;
  fault(words: string): void;
}

/** Counts the deliveries of each result. */
export const createDeliveries = ({ host, tracks, abandonedRuns, isHeadless, mayBeUnaware, fault }: DeliveryParts) => {
  /** Runs by the id of the notice that reports them. */
  const notices = new Map<string, { sessionID: string; runs: string[] }>();
  const answers = new Map<string, Pick<DeliveryCounts, "byWaiting" | "byReading">>();

  const given = new Set<string>();

  const isStored = (messageID: string, sessionID: string): boolean =>
    host.sessionIDs().includes(sessionID) && host.at(sessionID).parts.has(messageID);

  const answersOf = (key: string) => answers.get(key) ?? { byWaiting: 0, byReading: 0 };

  return {
    /** Records that a prompt is being sent to a session. */
    prompted: (prompt: Prompt) => {
      const { sessionID, messageID } = prompt;
      const ends = endsIn(prompt);
      if (ends.length === 0 || notices.has(messageID)) return;
      const wakes = ends.some(({ taskId, status }) => {
        const task = tracks.of(taskId);
        return task?.wake !== "all" || status === "error" || tracks.wasLastOfBatch(taskId, task.resumeCount);
      });
      if (!wakes && !isHeadless && !mayBeUnaware())
        fault(`${messageID} wakes ${sessionID} though others of each batch in it are at work`);
      const runs = ends.map(({ taskId, status }) => {
        const task = tracks.of(taskId);
        if (task?.parentSessionID !== sessionID) fault(`${sessionID} is notified of ${taskId}, which is not its task`);
        // What another process has removed may go on for a moment.
        if (task && task.status !== status && !tracks.isGone(taskId))
          fault(`${sessionID} is notified that ${taskId} is ${status}: it is ${task.status}`);
        if (task && abandonedRuns.isSurelyKnown(task)) {
          fault(`${sessionID} is notified of ${taskId}, which was cancelled with the turn that waited for it`);
        }
        return keyOf(taskId, task?.resumeCount ?? 0);
      });
      notices.set(messageID, { sessionID, runs });
    },
    /** Records that the notice of these runs was given up. */
    givenUp: (runs: NoticePrompt["runs"]) => {
      for (const { taskId, run } of runs) given.add(keyOf(taskId, run));
    },
    /** Records that the answer of a tool call with this result was stored in the conversation. */
    answered: (taskId: string, run: number, way: "byWaiting" | "byReading") => {
      const key = keyOf(taskId, run);
      answers.set(key, { ...answersOf(key), [way]: answersOf(key)[way] + 1 });
    },
    of: ({ sessionID: taskId, parentSessionID }: Task, run: number) => {
      const key = keyOf(taskId, run);
      const messages = [...notices].filter(
        ([messageID, notice]) => notice.runs.includes(key) && isStored(messageID, parentSessionID),
      );
      return { notices: messages.length, ...answersOf(key), isGivenUp: given.has(key) };
    },
    /** Returns the ids of the tasks whose ends a notice reports. */
    tasksIn: (messageID: string) => (notices.get(messageID)?.runs ?? []).map((run) => run.replace(/\/\d+$/, "")),
    /** Returns the ids of the notices sent to a session, without those that were given up. */
    to: (sessionID: string) =>
      [...notices].flatMap(([messageID, { sessionID: to, runs }]) =>
        to === sessionID && !runs.every((run) => given.has(run)) ? messageID : [],
      ),
  };
};

export type Deliveries = ReturnType<typeof createDeliveries>;
