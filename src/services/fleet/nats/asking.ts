import type { NatsConnection } from "@nats-io/transport-node";
import { errorMessage, type Log } from "../../platform/log.ts";
import { ANSWERED_WITHIN, type Bus } from "../bus.ts";
import { type AnswerTo, EVERYBODY, type Question, readAnswer, readQuestion } from "../questions.ts";
import { causeOf } from "./cause.ts";
import { askSubject } from "./names.ts";

/** Nobody listens there, or nobody had an answer in time. */
const SILENCE = ["NoResponders", "TimeoutError"];

const isSilence = (thrown: unknown): boolean => {
  const error = causeOf(thrown);
  return error instanceof Error && SILENCE.includes(error.name);
};

/** Asks a server. The first answer counts. @throws Error with the engine's reason */
export const askServer = async <Asked extends Question>(
  nc: NatsConnection,
  server: string,
  question: Asked,
): Promise<{ is: "answered"; answer: AnswerTo<Asked> } | { is: "silent" }> => {
  try {
    const message = await nc.request(askSubject(server), JSON.stringify(question), { timeout: ANSWERED_WITHIN });
    const answer = readAnswer(message.string(), question);
    return answer ? { is: "answered", answer } : { is: "silent" };
  } catch (error) {
    if (isSilence(error)) return { is: "silent" };
    throw error;
  }
};

/**
 * Asks all who work for others, and returns what is answered within so many milliseconds, of the first `most` answers.
 * @throws Error with the engine's reason
 */
export const askEverybody = async <Asked extends Question>(
  nc: NatsConnection,
  question: Asked,
  { within, most }: { within: number; most: number },
): Promise<AnswerTo<Asked>[]> => {
  const answers: AnswerTo<Asked>[] = [];
  let received = 0;
  try {
    const asked = { strategy: "timer", maxWait: within } as const;
    for await (const message of await nc.requestMany(askSubject(EVERYBODY), JSON.stringify(question), asked)) {
      const answer = readAnswer(message.string(), question);
      if (answer) answers.push(answer);
      received += 1;
      if (received >= most) break;
    }
  } catch (error) {
    if (!isSilence(error)) throw error;
  }
  return answers;
};

/** Returns a listener that has questions answered. What is no question is left unanswered. */
export const answerWith =
  (answer: Parameters<Bus["onAsked"]>[1], log: Log) =>
  (_: string, text: string, respond: ((text: string) => void) | undefined): void => {
    const question = readQuestion(text);
    if (!question || !respond) return;
    answer(question)
      .then((given) => given && respond(JSON.stringify(given)))
      .catch((error) =>
        log.error("a question of the fleet could not be answered", {
          question: question.type,
          reason: errorMessage(error),
        }),
      );
  };
