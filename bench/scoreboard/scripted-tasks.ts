import { type ModelRequest, textOf, toolResults } from "../../test/e2e/lab/model-request.ts";
import { calls, type Reply, text } from "../../test/e2e/lab/reply.ts";
import type { Contender } from "../notices/contender.ts";
import { userTextOf } from "../notices/scripted-parent.ts";
import { THINKING_MS } from "./moments.ts";

/** A parent session whose agent launches tasks when it is prompted first, and these tasks: each does a step, and answers. */
export interface ScriptedTasks {
  parent: string;
  /** What the tasks are called, each another name. */
  names: readonly string[];
  isParent(request: ModelRequest): boolean;
  isChild(request: ModelRequest): boolean;
  /** Whether the parent's request carries the notice of a task's completion. */
  tells(request: ModelRequest, name: string): boolean;
  /** How often that notice stands in a text. */
  countIn(text: string, name: string): number;
}

/** The full stop keeps task 1 apart from task 11. */
const promptOf = (name: string): string => `Do ${name}.`;

/** A step that was cut off is done again; one that is done stands in the conversation, with the name in its output. */
const childReply = (request: ModelRequest, names: readonly string[]): Reply => {
  const said = request.messages.map(textOf).join("\n");
  const name = names.find((candidate) => said.includes(promptOf(candidate)));
  if (name === undefined) throw new Error("a child works on something that nobody has asked for");
  if (toolResults(request).some(({ output }) => output.includes(name))) {
    return text(`The answer of ${name}.`, { delayMs: THINKING_MS });
  }
  const args = { command: `echo ${name}`, description: "says its name" };
  return calls([{ name: "bash", args }], { delayMs: THINKING_MS });
};

/** Creates the session, and scripts what its agent and its tasks say. */
export const scriptTasks = async (
  { lab, launch, notice }: Contender,
  title: string,
  count: number,
): Promise<ScriptedTasks> => {
  const names = Array.from({ length: count }, (_, index) => `${title} task ${index + 1}`);
  const parent = await lab.session({ title });
  const isParent = ({ sessionID }: ModelRequest) => sessionID === parent;
  const isChild = ({ parentSessionID }: ModelRequest) => parentSessionID === parent;
  lab.model.when(isChild, (request) => childReply(request, names));
  lab.model.when(isParent, (request) => {
    if (toolResults(request).length > 0) return text("Noted.", { delayMs: THINKING_MS });
    return calls(names.map((name) => launch(name, promptOf(name))));
  });

  /** The words of a task's notice; undefined while its session has not asked the model, and so has no end. */
  const noticeOf = (name: string): string | undefined => {
    const asking = lab.model.requests.find(
      (request) => isChild(request) && userTextOf(request).includes(promptOf(name)),
    );
    return asking && notice({ description: name, sessionID: asking.sessionID });
  };
  const countIn = (said: string, name: string): number => {
    const words = noticeOf(name);
    return words === undefined ? 0 : said.split(words).length - 1;
  };
  return {
    parent,
    names,
    isParent,
    isChild,
    tells: (request, name) => countIn(userTextOf(request), name) > 0,
    countIn,
  };
};
