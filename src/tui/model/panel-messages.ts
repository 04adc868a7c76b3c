import type { FollowedTasks } from "../../client/follow-tasks.ts";
import { hasEnded } from "../../task.ts";
import type { PanelTask } from "./tasks.ts";

/** Milliseconds within which what is interrupted counts as interrupted by the same event, such as an OpenCode that ends. */
const TOGETHER_MS = 30_000;

/** What the interface shows. */
interface Shown {
  /** The tasks of the conversation that is shown; of the whole directory where none is. */
  tasks: readonly PanelTask[];
  isConversation: boolean;
  /**
   * Epoch milliseconds. What was interrupted up to then is not announced: it was before, or it had gone on before the interface
   * began.
   */
  after: number;
}

interface Announcement {
  message: string;
  /** When the newest of these tasks was interrupted, epoch milliseconds. */
  upTo: number;
}

/**
 * Names which tasks were interrupted and go on: after a restart of OpenCode, and after an `opencode run` that left them behind.
 * Undefined where none was, or that is no news.
 */
export const announcementOf = ({ tasks, isConversation, after }: Shown): Announcement | undefined => {
  const interruptions = tasks.flatMap((task) =>
    hasEnded(task) || task.interruptedAt === undefined ? [] : Date.parse(task.interruptedAt),
  );
  const upTo = Math.max(...interruptions);
  if (!(upTo > after)) return undefined;
  const count = interruptions.filter((at) => upTo - at <= TOGETHER_MS).length;
  const what = count === 1 ? "1 task" : `${count} tasks`;
  const where = isConversation ? "of this conversation" : "of this directory";
  const [verb, object] = count === 1 ? ["goes", "it"] : ["go", "them"];
  return { message: `${what} ${where} ${verb} on. /tasks lists ${object}.`, upTo };
};

/** What the interface knows of the server that it hears of tasks from. */
interface Connection extends Pick<FollowedTasks, "lost" | "server"> {
  /** It has received the tasks at least once. */
  hasHeard: boolean;
  /** The environment says that there is no server. */
  isOff: boolean;
}

/**
 * Explains why what is known may be out of date or incomplete; undefined where it is neither. OpenCode starts the plugin when it
 * is needed, so a new interface finds no server before its first message.
 */
export const problemOf = ({ lost, server, hasHeard, isOff }: Connection): string | undefined => {
  if (lost === undefined) return server?.versionDifference;
  if (hasHeard || lost.kind !== "notRunning") return `Out of date. ${lost.reason}`;
  return isOff
    ? "Tasks are not shown: ASYNCAGENTS_API_ENABLED=false switches off what the panel reads."
    : "Tasks show here from your first message on.";
};

/** Names and addresses of this machine. */
type OwnNames = ReadonlySet<string>;

/** The address under which OpenCode's interface reaches a server in its own process. */
const IN_PROCESS = "opencode.internal";

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\]|::1|0\.0\.0\.0)$/;

/**
 * Returns the name of the other machine that the server at an address runs on; undefined where it is this one, or the
 * address does not say so. A tunnel from this machine looks like this machine.
 */
export const otherMachine = (url: string | undefined, ownNames: OwnNames): string | undefined => {
  if (url === undefined || !URL.canParse(url)) return undefined;
  const name = new URL(url).hostname.toLowerCase();
  const bare = name.replace(/^\[|\]$/g, "");
  return name === IN_PROCESS || LOOPBACK.test(name) || ownNames.has(bare) ? undefined : name;
};

/** Describes what cannot be seen from here, and where it can. */
export const otherMachineText = (name: string): string =>
  `Tasks run on another machine; the panel on this one does not reach them. On ${name}, opencode-taskchart list shows them.`;
