import type { Lab } from "./lab/lab.ts";
import { lastUserText, type ModelRequest } from "./lab/model-request.ts";
import { calls, type ScriptedCall, text } from "./lab/reply.ts";

/** A call of one of our tools; the name goes without its prefix. */
export const ours = (tool: string, args: Record<string, unknown> = {}): ScriptedCall => ({
  name: `asyncagents_${tool}`,
  args,
});

/** The request of a child with this prompt. A bare string would fit the parent's too: notices repeat descriptions. */
export const inChild =
  (prompt: string) =>
  (request: ModelRequest): boolean =>
    request.parentSessionID !== undefined && lastUserText(request) === prompt;

/**
 * Any request of an agent that a person asked this, also those that end in a notice: a task may end while its agent still works,
 * and what the person asked is then no longer the newest text.
 */
export const wasAsked =
  (words: string) =>
  ({ parentSessionID, messages }: ModelRequest): boolean =>
    parentSessionID === undefined && JSON.stringify(messages).includes(words);

/** A call that launches a task whose prompt is `prompt`. */
export const launching = (prompt: string, more: Record<string, unknown> = {}): ScriptedCall =>
  ours("task", { description: `about ${prompt}`, prompt, agent: "general", ...more });

/** Has an agent launch tasks with these prompts, all in one message, and waits until its turn is over. */
export const launchFrom = async (lab: Lab, parent: string, prompts: string[]): Promise<string[]> => {
  const word = `launch ${prompts.join(", ")}`;
  lab.model.when(word, [calls(prompts.map((prompt) => launching(prompt))), text("launched")]);
  await lab.ask(parent, word);
  return Promise.all(prompts.map((prompt) => childOf(lab, prompt)));
};

/** The session that a task with this prompt runs in, once its model is asked. */
export const childOf = async (lab: Lab, prompt: string): Promise<string> =>
  (await lab.model.waitFor(inChild(prompt))).sessionID;

/** A notice of one run: its visible part, and the hidden part of the message that it is in, which may be about more runs. */
type StoredNotice = { taskId: string; visible: string; hidden: string };

/** The notices in a conversation, as the stored messages have them. */
export const noticesIn = async (lab: Lab, parent: string): Promise<StoredNotice[]> =>
  (await lab.messages(parent)).flatMap(({ info, parts }) => {
    if (info.role !== "user") return [];
    const texts = parts.flatMap((part) => (part.type === "text" ? part : []));
    const hidden = texts.find(({ synthetic }) => synthetic)?.text;
    if (hidden === undefined) return [];
    const visible = texts.flatMap(({ text, synthetic }) => (synthetic ? [] : text));
    const taskIds = [...hidden.matchAll(/^Task (ses_\w+) /gm)].map(([, id = ""]) => id);
    return taskIds.map((taskId, index) => ({ taskId, visible: visible[index] ?? "", hidden }));
  });

/** The parent's model request that carries the notice of this task. */
export const noticeRequest = (lab: Lab, parent: string, taskId: string) =>
  lab.model.waitFor(
    (request) =>
      request.sessionID === parent &&
      request.messages.some(
        ({ role, content }) => role === "user" && JSON.stringify(content).includes(`Task ${taskId} `),
      ),
  );

/** Waits until the parent has been notified of these tasks, and rests. Resolves to all its notices. */
export const notified = async (lab: Lab, parent: string, taskIds: string[]) => {
  for (const taskId of taskIds) await noticeRequest(lab, parent, taskId);
  await lab.until(
    async () => {
      const { data } = await lab.client.session.status();
      return data !== undefined && !(parent in data);
    },
    { what: `${parent} rests` },
  );
  return noticesIn(lab, parent);
};
