import type { Elsewhere } from "../engine/requests.ts";
import { fail } from "../platform/result.ts";
import { nameOf, type OwnText, own, quoteLine } from "../text/own-text.ts";
import { noSuchMessage, writePassage } from "../text/transcript.ts";
import type { Bus, BusFailure } from "./bus.ts";
import { VERSION } from "./messages.ts";

/** Says why a conversation is not had, and what to do. `label` is what its server is called. */
const notHad = (label: string, taskId: string, asked: BusFailure | { is: "silent" }): OwnText =>
  asked.is === "silent"
    ? own`Server ${nameOf(label)}, which has the conversation of task ${nameOf(taskId)}, does not answer: it is off, cut off or busy, or has removed it. Try again later.`
    : own`The fleet could not be asked for the conversation of task ${nameOf(taskId)}, which is on server ${nameOf(label)}: ${quoteLine(asked.message)}. Try again later.`;

/** Creates the reader of conversations that are on other servers. `home` is the id of this one. */
export const createRemoteConversations = (bus: Pick<Bus, "ask">, home: string): Elsewhere => ({
  transcript: async ({ id, label }, taskId, options) => {
    const { sinceMessageId, messageLimit, includeToolResults } = options;
    const asked = await bus.ask(id, {
      ...{ v: VERSION, type: "conversation", home, task: taskId },
      options: { messageLimit, includeToolResults, ...(sinceMessageId === undefined ? {} : { sinceMessageId }) },
    });
    if (asked.is !== "answered") {
      return fail(
        own`${notHad(label, taskId, asked)} Without full_session, the task's result is read, which is here once it has ended.`,
      );
    }
    const { passage } = asked.answer;
    if (!passage) return noSuchMessage(sinceMessageId ?? "");
    // No more is shown than was asked for, whatever is sent.
    const messages = passage.messages.slice(0, messageLimit);
    return { ok: true, value: writePassage({ ...passage, messages }, includeToolResults) };
  },
  messages: async ({ id, label }, taskId) => {
    const asked = await bus.ask(id, { v: VERSION, type: "messages", home, task: taskId });
    return asked.is === "answered"
      ? { ok: true, value: asked.answer.messages }
      : fail(notHad(label, taskId, asked), "host");
  },
});
