import type { ReadElsewhere } from "../operations/read-task.ts";
import { fail } from "../platform/result.ts";
import { nameOf, own, quoteLine } from "../text/own-text.ts";
import { noSuchMessage, writePassage } from "../text/transcript.ts";
import type { Bus } from "./bus.ts";
import { VERSION } from "./messages.ts";

/** Creates the reader of conversations that are on other servers. `home` is the id of this one. */
export const createRemoteConversations =
  (bus: Pick<Bus, "ask">, home: string): ReadElsewhere =>
  async ({ id, label }, taskId, options) => {
    const { sinceMessageId, messageLimit, includeToolResults } = options;
    const asked = await bus.ask(id, {
      ...{ v: VERSION, type: "conversation", home, task: taskId },
      options: { messageLimit, includeToolResults, ...(sinceMessageId === undefined ? {} : { sinceMessageId }) },
    });
    const instead = own`Without full_session, the task's result is read, which is here once it has ended.`;
    const what = own`the conversation of task ${nameOf(taskId)}`;
    switch (asked.is) {
      case "answered": {
        const { passage } = asked.answer;
        if (!passage) return noSuchMessage(sinceMessageId ?? "");
        // No more is shown than was asked for, whatever is sent.
        const messages = passage.messages.slice(0, messageLimit);
        return { ok: true, value: writePassage({ ...passage, messages }, includeToolResults) };
      }
      case "silent":
        return fail(
          own`Server ${nameOf(label)}, which has ${what}, does not answer: it is off or cut off, or has removed it. Try again when it is back. ${instead}`,
        );
      default:
        return fail(
          own`The fleet could not be asked for ${what}, which is on server ${nameOf(label)}: ${quoteLine(asked.message)}. Try again later. ${instead}`,
        );
    }
  };
