import type { FleetOffer } from "../../task.ts";
import type { LaunchPlan, LaunchRequest } from "../engine/requests.ts";
import { errorMessage } from "../platform/log.ts";
import { fail, type Outcome } from "../platform/result.ts";
import { own, quoteLine } from "../text/own-text.ts";

/** What decides whether a task is offered to other servers. */
export interface OfferRules {
  pool: string;
  /** The agents whose tasks are for other servers. */
  agents: readonly string[];
  /** The agents whose answers must pass a gate, a command that runs here. */
  gated: Readonly<Record<string, unknown>>;
  attempts: number;
  /** Milliseconds. */
  patience: number;
  /** The commit that is checked out in a directory, where others can fetch it; a failure says why they cannot. */
  publishedCommit(directory: string): Promise<Outcome<string>>;
}

const NOT_OFFERED: Outcome<undefined> = { ok: true, value: undefined };

/** Returns how a task is offered to other servers; a failure says why it is worked on here, though its agent is for them. */
export const offerFor = async (
  { pool, agents, gated, attempts, patience, publishedCommit }: OfferRules,
  { agent, fork, order, directory }: LaunchRequest,
  { callerDirectory }: LaunchPlan,
): Promise<Outcome<FleetOffer | undefined>> => {
  if (order || !agents.includes(agent)) return NOT_OFFERED;
  if (fork) return fail("it begins with this conversation, which stays here");
  if (gated[agent] !== undefined) return fail("its answers must pass a gate, which runs here");
  if (callerDirectory !== directory) return fail("this session works in a worktree, whose files are only here");
  try {
    const commit = await publishedCommit(callerDirectory);
    return commit.ok ? { ok: true, value: { pool, commit: commit.value, attempts, patience } } : commit;
  } catch (error) {
    return fail(own`git says: ${quoteLine(errorMessage(error))}`);
  }
};
