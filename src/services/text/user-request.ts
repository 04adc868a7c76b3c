import type { UserRequest } from "../../machines/task/events.ts";
import type { Task } from "../../task.ts";
import { endWith, join, lines, nameOf, type OwnLine, type OwnText, own, quoteLine, vouchFor } from "./own-text.ts";

/** What people are shown of a request: a child wrote it, and may write anything. */
export type ShownRequest = Pick<UserRequest, "id" | "kind" | "what" | "questions" | "always">;

/** Characters of what a child asks that a toast or a list shows. */
export const SHORT_CHARS = 300;

/** Characters of it that are shown where it is answered: all that a person could read. */
const SHOWN = 4_000;

const ASKS = { permission: "asks permission for", question: "asks:" } as const;

/** Who asks, if that is to be said, and what: to the letter, for the person who judges it. */
export const requestLine = ({ kind, what }: ShownRequest, who?: OwnText, most = SHOWN): OwnLine =>
  endWith(join([who, own`${ASKS[kind]}`], " "), what, most);

/** What a person has to answer before the task goes on, in short; undefined when there is nothing. */
export const attentionSummary = ({ attention }: Pick<Task, "attention">): OwnText | undefined =>
  attention && attention.kind !== "stale"
    ? own`${attention.kind}: ${quoteLine(attention.what, SHORT_CHARS)}`
    : undefined;

/** What else there is to know before it is answered, a line each. */
export const requestDetails = (request: ShownRequest): (OwnText | OwnLine)[] =>
  request.always?.length ? [endWith(own`- always allows:`, request.always.join(", "), SHOWN)] : questionLines(request);

/** Each question with its choices. */
const questionLines = ({ questions = [] }: ShownRequest): OwnText[] =>
  questions.map(({ question, options, multiple, custom }) => {
    const choices = [
      ...options.map((option) => quoteLine(option, SHOWN)),
      multiple ? own`several may be chosen` : undefined,
      custom ? own`or something else` : undefined,
    ];
    return own`- ${quoteLine(question, SHOWN)} [${join(choices, ", ")}]`;
  });

/** A path as a shell takes it, whatever stands in it. */
const quoted = (path: string, platform: string): string => {
  if (platform === "win32") return /^[\w@%+=:,./\\-]+$/.test(path) ? path : `"${path}"`;
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
};

/**
 * How the command in that file is called in a terminal, wherever that is open. Its name alone is in nobody's path where
 * OpenCode has installed the package, or loads it from a folder.
 */
export const shellCommand = (file: string, platform: string = process.platform): string =>
  `node ${quoted(file, platform)}`;

/**
 * The command line that answers a request, and no other: what is asked next is not answered by it. As it is, a shell
 * refuses it: nobody allows anything by copying it.
 */
export const answerLine = (command: string, { id, kind, questions = [] }: ShownRequest): OwnText => {
  const call = own`${vouchFor(command)} answer ${nameOf(id)}`;
  if (kind === "permission") return own`${call} <once|always|reject>`;
  const answers = questions.map(() => own`<answer>`);
  return own`${join([call, ...answers], " ")}  (or --reject)`;
};

/**
 * What a person reads in the conversation, where the interface shows nothing else of it. It is shown as it is, not as
 * Markdown.
 */
export const requestMessage = (
  { description, agent }: { description: string; agent: string },
  request: ShownRequest,
  command: string,
): OwnText =>
  lines(
    requestLine(request, own`✋ Agent ${quoteLine(description)} (${nameOf(agent)})`),
    ...requestDetails(request),
    "It waits for you. In a terminal:",
    answerLine(command, request),
  );
