import { createStatusApiClient } from "../../client/status-api-client.ts";
import { DEFAULT_PORT, LOOPBACK } from "../../services/http/loopback.ts";
import { shortTime } from "../task-words.ts";
import type { Check, Examined } from "./check.ts";
import { listenerAt, type NamedProcess } from "./open-files.ts";

/** Looks at the server of the status API, and at the port where it is or would be. */
export const checkServer = async ({ folder, env }: Examined, now: number): Promise<Check[]> => {
  const client = createStatusApiClient(folder);
  const found = await client.server();
  if (!found.ok) {
    const isOff = env.ASYNCAGENTS_API_ENABLED?.trim().toLowerCase() === "false";
    const state = found.kind === "notRunning" ? "note" : "wrong";
    const reason = isOff ? "ASYNCAGENTS_API_ENABLED is false: nothing is served" : found.reason;
    return [{ about: "server", state, found: [reason] }, portCheck(Number(env.ASYNCAGENTS_API_PORT) || DEFAULT_PORT)];
  }
  const { port, pid, startedAt, version, versionDifference } = found.value;
  const stats = await client.stats();
  const words = [
    `http://${LOOPBACK}:${port}, process ${pid}, for ${shortTime(now - Date.parse(startedAt))}`,
    `version ${version}`,
  ];
  const server: Check = !stats.ok
    ? { about: "server", state: "wrong", found: [...words, stats.reason], advice: "OpenCode's log says why." }
    : versionDifference !== undefined
      ? { about: "server", state: "wrong", found: words, advice: versionDifference }
      : { about: "server", state: "ok", found: words };
  return [server, portCheck(port, pid)];
};

const nameOf = (listener: NamedProcess | "another"): string =>
  listener === "another" ? "a process that cannot be named" : `process ${listener.pid} (${listener.name})`;

/** Says who listens at a port; `expected` is the process that should. */
const portCheck = (port: number, expected?: number): Check => {
  const about = "port";
  const listener = listenerAt(port);
  if (process.platform !== "linux") return { about, state: "unknown", found: [`${port}: only Linux says who listens`] };
  if (listener === undefined)
    return { about, state: expected === undefined ? "ok" : "unknown", found: [`${port} is free`] };
  const found = [`${nameOf(listener)} listens at ${port}`];
  if (expected !== undefined) return { about, state: "ok", found };
  return { about, state: "note", found: [...found, "OpenCode takes the next one that is free"] };
};
