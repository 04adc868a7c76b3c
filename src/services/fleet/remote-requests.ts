import type { Host } from "../host/host.ts";
import type { FleetHome } from "./home.ts";

/** Returns the host, which also takes replies to what agents ask on other servers: those get them. */
export const withRemoteRequests = <H extends Host>(host: H, { reply }: Pick<FleetHome, "reply">): H => ({
  ...host,
  answerUserRequest: (request, given) => reply(request.id, given) ?? host.answerUserRequest(request, given),
  rejectUserRequest: (request, why) => {
    // A question is rejected without words.
    const given = { reply: "reject", ...(request.kind === "permission" ? { message: why } : {}) } as const;
    return reply(request.id, given) ?? host.rejectUserRequest(request, why);
  },
});
