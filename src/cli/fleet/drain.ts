import { readLimits } from "../../services/fleet/nats/limits.ts";
import { wrap } from "../../services/platform/columns.ts";
import { toSingleLine } from "../../services/platform/plain-text.ts";
import { printJson } from "../command.ts";
import type { Terminal } from "../terminal.ts";
import { type GivenEngine, withEngine } from "./engine.ts";
import { changeOrRefuse, notSetUp, UNREADABLE } from "./limit.ts";

/** What `fleet drain` is given. */
interface GivenDrain extends GivenEngine {
  server?: string | undefined;
  undo?: true | undefined;
  json?: true | undefined;
}

/** Returns the drained servers with that one, or without it; the same list where that is so already. */
const changed = (drained: readonly string[], server: string, isWanted: boolean): readonly string[] => {
  if (drained.includes(server) === isWanted) return drained;
  return isWanted ? [...drained, server] : drained.filter((other) => other !== server);
};

const textOf = (server: string, isDrained: boolean): string =>
  isDrained
    ? `Server ${toSingleLine(server)} takes no more orders, and ends what it works on. fleet drain --undo lets it take some again.`
    : `Server ${toSingleLine(server)} takes orders again.`;

/** `opencode-taskchart fleet drain`. */
export const drainServer = async (given: GivenDrain, terminal: Terminal): Promise<void> => {
  const { server, undo = false } = given;
  const { url, drained } = await withEngine(given, async ({ url, jsm }) => {
    try {
      if (server === undefined) {
        const found = await readLimits(jsm);
        if (!found) throw UNREADABLE(url);
        return { url, drained: found.drained };
      }
      const { after } = await changeOrRefuse(jsm, url, (limits) => {
        const drained = changed(limits.drained, server, !undo);
        return drained === limits.drained ? limits : { ...limits, drained };
      });
      return { url, drained: after.drained };
    } catch (error) {
      throw error instanceof Error && error.name === "StreamNotFoundError" ? notSetUp(url) : error;
    }
  });
  if (given.json) return printJson(terminal, { url, drained });
  if (server !== undefined) return terminal.print(...wrap(textOf(server, !undo), terminal.columns));
  terminal.print(...(drained.length === 0 ? ["Every server takes orders."] : drained.map(toSingleLine)));
};
