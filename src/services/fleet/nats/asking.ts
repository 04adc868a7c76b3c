import type { NatsConnection } from "@nats-io/transport-node";
import { errorMessage, type Log } from "../../platform/log.ts";
import { ANSWERED_WITHIN, type Broker, PRESENT_WITHIN } from "../broker.ts";
import { type AnswerTo, EVERYBODY, type Presence, type Question, readAnswer, readQuestion } from "../questions.ts";
import { VERSION } from "../wire-messages.ts";
import { causeOf } from "./nats-connection.ts";
import { askSubject } from "./streams.ts";

/** Errors of requests to which nobody listens, or that nobody answers in time. */
const SILENCE = ["NoResponders", "TimeoutError"];

const isSilence = (thrown: unknown): boolean => {
  const error = causeOf(thrown);
  return error instanceof Error && SILENCE.includes(error.name);
};

/** Asks a server. The first answer counts. @throws Error with the broker's reason */
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
 * Asks all workers, and returns the answers of the first `within` milliseconds, at most `most` of them.
 * @throws Error with the broker's reason
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

/** Returns a listener that answers questions. What is no question is left unanswered. */
export const answerWith =
  (answer: Parameters<Broker["onAsked"]>[1], log: Log) =>
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

/**
 * Asks which workers are present. Returns a string, the reason, where they may not be asked.
 * @param most how many answers are read. Default: all
 * @throws Error with the broker's reason
 */
export const askPresences = async (
  nc: NatsConnection,
  most = Number.POSITIVE_INFINITY,
): Promise<Presence[] | string> => {
  try {
    return await askEverybody(nc, { v: VERSION, type: "present" }, { within: PRESENT_WITHIN, most });
  } catch (thrown) {
    const error = causeOf(thrown);
    if (error instanceof Error && error.name === "PermissionViolationError") return error.message;
    throw thrown;
  }
};
