import type { Log } from "../../platform/log.ts";

const FIRST_PORT = 5_165;
const TRIES = 10;
const LAST_PORT = 65_535;

type Environment = Readonly<Record<string, string | undefined>>;

/** False when the environment says that there is to be no server. */
export const isEnabled = (env: Environment): boolean => env.ASYNCAGENTS_API_ENABLED?.trim().toLowerCase() !== "false";

/** The ports to try, in that order: ten from the first one on, then whichever the system gives. */
export const portsOf = (env: Environment, log: Log): number[] => {
  const given = env.ASYNCAGENTS_API_PORT?.trim() ?? "";
  const isPort = /^\d{1,5}$/.test(given) && Number(given) >= 1 && Number(given) <= LAST_PORT;
  if (given !== "" && !isPort) {
    const problem = `ASYNCAGENTS_API_PORT is ${JSON.stringify(given)}, which is no port from 1 to ${LAST_PORT}`;
    log.error(`${problem}; the status API uses ${FIRST_PORT}`);
  }
  const first = isPort ? Number(given) : FIRST_PORT;
  return [...Array.from({ length: TRIES }, (_, step) => first + step).filter((port) => port <= LAST_PORT), 0];
};
