import { join, lines, nameOf, type OwnText, own, quoteLine } from "../../text/own-text.ts";
import type { EngineContext } from "../context.ts";

/** The ids of sessions, and so of tasks, in what a tool call returned. */
const TASK_ID = /\bses_\w+/g;

/**
 * Returns a sentence on whose tasks a conversation mentions that has none of its own: one that a person forked, or a forked task's, has copies
 * of the calls that launched them. Undefined where it mentions none, or cannot be read.
 */
export const tasksOfOriginal = async (
  { host, store, options }: EngineContext,
  sessionID: string,
): Promise<OwnText | undefined> => {
  const conversation = await host.conversation(sessionID);
  if (!conversation.ok) return undefined;
  const results = conversation.value.flatMap(({ parts }) =>
    parts.flatMap((part) =>
      part.kind === "tool" && part.name === options.notice.tools.launch ? (part.result ?? "") : [],
    ),
  );
  const ids = new Set(results.flatMap((result) => result.match(TASK_ID) ?? []));
  const tasks = [...ids].flatMap((id) => store.get(id)?.task ?? []);
  const byOwner = Map.groupBy(
    tasks.filter(({ parentSessionID }) => parentSessionID !== sessionID),
    ({ parentSessionID }) => parentSessionID,
  );
  const said = await Promise.all(
    [...byOwner].map(async ([owner, owned]) => {
      const session = await host.session(owner);
      const title = session.ok ? own`${quoteLine(session.value.title, 100)} (${nameOf(owner)})` : nameOf(owner);
      const names = join(
        owned.map((task) => nameOf(task.sessionID)),
        ", ",
      );
      return own`This conversation has copies of the calls that launched ${names}. Those tasks are of the conversation ${title}, and their results are delivered there.`;
    }),
  );
  return said.length === 0 ? undefined : lines(...said);
};
