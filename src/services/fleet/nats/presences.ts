import type { NatsConnection } from "@nats-io/transport-node";
import { VERSION } from "../messages.ts";
import type { AnswerTo, Question } from "../questions.ts";
import { askEverybody } from "./asking.ts";
import { causeOf } from "./cause.ts";

/** What a server says of itself. */
export type Presence = AnswerTo<Extract<Question, { type: "present" }>>;

/** Milliseconds for which servers may say that they are there. One that is busy may take part of a second. */
const ANSWERS_WITHIN = 500;

/**
 * Asks all servers that work for others who is there. A string says why they may not be asked.
 * @throws Error with the engine's reason
 */
export const askPresences = async (nc: NatsConnection): Promise<Presence[] | string> => {
  try {
    return await askEverybody(nc, { v: VERSION, type: "present" }, ANSWERS_WITHIN);
  } catch (thrown) {
    const error = causeOf(thrown);
    if (error instanceof Error && error.name === "PermissionViolationError") return error.message;
    throw thrown;
  }
};
