import type { Host, ListedSession } from "./host.ts";
import type { Log } from "./log.ts";
import type { PendingLaunch, Store } from "./store/store.ts";

/** The key under which a session that was made for a launch is found again. */
export const launchMark = (parentSessionID: string, launch: string): Record<string, unknown> => ({
  taskchart: { parentSessionID, launch },
});

/**
 * Milliseconds within which the host makes the session of a fork that it is asked for, before it copies (measured: under
 * 500). One that is made later is a person's.
 */
const FORK_BEGUN_WITHIN = 5_000;

const hasMark = ({ metadata }: ListedSession, launch: string): boolean => {
  const mark = metadata.taskchart;
  return typeof mark === "object" && mark !== null && "launch" in mark && mark.launch === launch;
};

/**
 * Removes what launches left behind that were cut off: a session that no task runs in. The agent that launched was cut off
 * as well and knows of no task, so nobody misses it. Launches that could not be looked after stay in the store.
 */
export const createLeftovers = (host: Host, store: Store, log: Log) => {
  /** A fork gets its mark after the copying: until then it is told by its name, and by that nothing was said in it yet. */
  const isUnmarkedFork = async (session: ListedSession, launch: PendingLaunch, title: string): Promise<boolean> => {
    if (session.parentID !== undefined || store.get(session.id)) return false;
    if (session.createdAt - launch.at > FORK_BEGUN_WITHIN) return false;
    if (!session.title.startsWith(title) || !/ \(fork #\d+\)$/.test(session.title)) return false;
    const newest = await host.messages(session.id, 1);
    return newest.ok && newest.value.every(({ createdAt }) => createdAt <= launch.at);
  };

  const forksOf = async (sessions: ListedSession[], launch: PendingLaunch): Promise<ListedSession[]> => {
    const parent = await host.session(launch.parentSessionID);
    if (!parent.ok) return [];
    const { title } = parent.value;
    const verdicts = await Promise.all(sessions.map((session) => isUnmarkedFork(session, launch, title)));
    return sessions.filter((_, index) => verdicts[index]);
  };

  return async (launch: PendingLaunch): Promise<void> => {
    const listed = await host.sessionsSince(launch.at);
    if (!listed.ok) return log.error("a cut-off launch could not be looked after", { ...launch, ...listed.failure });
    const marked = listed.value.filter((session) => hasMark(session, launch.messageID));
    const unmarked = launch.fork && marked.length === 0 ? await forksOf(listed.value, launch) : [];
    for (const { id } of [...marked, ...unmarked]) {
      // The launch may have got as far as its task.
      if (store.get(id)) continue;
      const removed = await host.deleteSession(id);
      if (!removed.ok && removed.failure.kind !== "notFound") {
        return log.error("a session made for nothing stays", { sessionID: id, reason: removed.failure.message });
      }
      log.info("a session of a launch that was cut off is removed", { sessionID: id });
    }
    store.endLaunch(launch.messageID);
  };
};
