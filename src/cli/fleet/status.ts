import { readOverview } from "../../services/fleet/nats/overview.ts";
import { askPresences } from "../../services/fleet/nats/presences.ts";
import { type CommandContext, EXIT, printJson } from "../command.ts";
import { type GivenEngine, type ReachedEngine, withEngine } from "./engine.ts";
import { type FleetStatus, statusLines } from "./format-status.ts";
import { serversOf } from "./servers.ts";

const readStatus = async (engine: ReachedEngine): Promise<FleetStatus> => {
  const { url, version, nc, jsm } = engine;
  const [overview, presences] = await Promise.all([readOverview(jsm), askPresences(nc)]);
  const isAsked = typeof presences !== "string";
  const servers = serversOf(overview, isAsked ? presences : undefined);
  return { url, version, ...overview, servers, ...(isAsked ? {} : { notAsked: presences }) };
};

/** `opencode-taskchart fleet status`. */
export const showFleet = async (
  { json, ...given }: GivenEngine & { json?: true | undefined },
  { terminal, end }: CommandContext,
): Promise<void> => {
  const status = await withEngine(given, readStatus);
  if (status.missing.length > 0) end(EXIT.found);
  if (json) return printJson(terminal, status);
  terminal.print(...statusLines(status, terminal, Date.now()));
};
