import type { NatsConnection } from "@nats-io/transport-node";
import { PRESENT_WITHIN } from "../bus.ts";
import { VERSION } from "../messages.ts";
import type { Presence } from "../questions.ts";
import { askEverybody } from "./asking.ts";
import { causeOf } from "./cause.ts";

/**
 * Asks all servers that work for others who is there. A string says why they may not be asked.
 * @param most how many answers are read. Default: all
 * @throws Error with the engine's reason
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
