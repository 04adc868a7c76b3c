import { readOverview } from "../../services/fleet/nats/overview.ts";
import { type CommandContext, EXIT, printJson } from "../command.ts";
import { type GivenEngine, withEngine } from "./engine.ts";
import { type FleetStatus, statusLines } from "./format-status.ts";

/** `opencode-taskchart fleet status`. */
export const showFleet = async (
  { json, ...given }: GivenEngine & { json?: true | undefined },
  { terminal, end }: CommandContext,
): Promise<void> => {
  const status = await withEngine(
    given,
    async ({ url, version, jsm }): Promise<FleetStatus> => ({ url, version, ...(await readOverview(jsm)) }),
  );
  if (status.missing.length > 0) end(EXIT.found);
  if (json) return printJson(terminal, status);
  terminal.print(...statusLines(status, terminal, Date.now()));
};
