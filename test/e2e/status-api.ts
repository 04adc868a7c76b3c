import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Lab } from "./lab/lab.ts";

/** Where the plugin of a lab keeps its files. */
export const dataFolder = (lab: Lab): string => join(lab.options.home, "data", "opencode-taskchart");

/** The file from which other programs learn where the API is. */
export const serverFile = (lab: Lab): { url: string; token: string; pid: number } =>
  JSON.parse(readFileSync(join(dataFolder(lab), "server.json"), "utf8"));

/** Waits until the API is served: that is up to three seconds after OpenCode has started the plugin. */
export const served = (lab: Lab): Promise<boolean> =>
  lab.until(() => existsSync(join(dataFolder(lab), "server.json")) && serverFile(lab).pid === lab.opencode.pid, {
    what: "the status API is served",
  });

interface Answered {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of it
  body: any;
}

/** The status API of a lab, whichever port it is at. A restarted server is asked on a new connection. */
export const statusApi = (lab: Lab) => {
  const call = async (path: string, init: RequestInit = {}): Promise<Answered> => {
    const { url, token } = serverFile(lab);
    const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json", connection: "close" };
    const answer = await fetch(url + path, { ...init, headers });
    return { status: answer.status, body: await answer.json() };
  };
  return {
    get: (path: string) => call(path),
    post: (path: string, body: unknown = {}) => call(path, { method: "POST", body: JSON.stringify(body) }),
  };
};
