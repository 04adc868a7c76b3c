import { readFileSync } from "node:fs";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import type { ServerFile } from "../services/http/discovery/instances.ts";
import { toSingleLine } from "../services/platform/plain-text.ts";
import { isAlive } from "../services/platform/process-identity.ts";
import { type ApiResult, failed } from "./api-result.ts";
import { isHealth } from "./api-types.ts";
import { send } from "./http.ts";
import { parseJson } from "./json.ts";

/** A server that has said itself that it is the one that `server.json` describes. */
export interface FoundServer {
  port: number;
  token?: string | undefined;
  pid: number;
  /** When it started, ISO 8601. */
  startedAt: string;
  /** The version of the plugin that serves it. */
  version: string;
  /** A sentence for the person when that is another version than this one; absent when it is the same. */
  versionDifference?: string;
}

/** Milliseconds in which a server has to say who it is. */
const PROBE_TIMEOUT_MS = 3_000;

const START = "OpenCode is not running: open it in your project.";

const isServerFile = (value: unknown): value is ServerFile => {
  if (typeof value !== "object" || value === null) return false;
  const { port, pid, startedAt, token } = value as Record<string, unknown>;
  const isPort = Number.isInteger(port) && Number(port) > 0 && Number(port) < 65_536;
  const hasToken = token === undefined || typeof token === "string";
  return isPort && Number.isInteger(pid) && Number(pid) > 0 && typeof startedAt === "string" && hasToken;
};

/** Returns what `server.json` says; undefined when there is none. */
const readServerFile = (path: string): ApiResult<ServerFile | undefined> => {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return { ok: true, value: undefined };
    return failed("unreadable", `${path} cannot be read: ${toSingleLine(String(error))}.`);
  }
  const value = parseJson(text);
  if (isServerFile(value)) return { ok: true, value };
  return failed(
    "unreadable",
    `${path} does not describe a server. Remove it: OpenCode writes it again within 2 seconds.`,
  );
};

const differenceTo = (version: string): string | undefined =>
  version === manifest.version
    ? undefined
    : `OpenCode runs opencode-taskchart ${toSingleLine(version)}, and this is ${manifest.version}. Update the older one, and restart OpenCode.`;

/** Finds the server of a data folder, as it is now. */
export interface ServerFinder {
  /**
   * Returns the server that `server.json` describes. It is asked who it is once, and again when the file has changed or
   * after `forget`. That shows whether a file was left over: nothing listens there, or another program does.
   */
  find(): Promise<ApiResult<FoundServer>>;
  /** Has the server asked anew, as it could not be reached. */
  forget(): void;
}

/** Creates the finder for a data folder, which need not exist. */
export const createServerFinder = (folder: string): ServerFinder => {
  const path = join(folder, "server.json");
  let known: { server: FoundServer; token: string | undefined } | undefined;

  const leftOver = ({ pid, port }: ServerFile): string =>
    isAlive(pid)
      ? `${START} ${path} is left over: what listens at port ${port} is not the server that it describes.`
      : `${START} ${path} is left over from process ${pid}, which has ended.`;

  return {
    find: async () => {
      const file = readServerFile(path);
      if (!file.ok) return file;
      if (!file.value) {
        known = undefined;
        return failed("notRunning", `${START} There is no server.json in ${folder}.`);
      }
      const { port, pid, startedAt, token } = file.value;
      if (known && known.server.port === port && known.server.startedAt === startedAt && known.token === token) {
        return { ok: true, value: known.server };
      }
      known = undefined;
      const answer = await send({ port }, { method: "GET", path: "/v1/health" }, PROBE_TIMEOUT_MS);
      if (answer === "silent") {
        return failed(
          "silent",
          `OpenCode (process ${pid}, port ${port}) does not answer: it is stopped or busy. Try again.`,
        );
      }
      const health = typeof answer === "string" ? undefined : parseJson(answer.text);
      if (!isHealth(health) || health.pid !== pid || health.startedAt !== startedAt) {
        return failed("notRunning", leftOver(file.value));
      }
      const versionDifference = differenceTo(health.version);
      const server = { port, token, pid, startedAt, version: health.version };
      known = { server: versionDifference === undefined ? server : { ...server, versionDifference }, token };
      return { ok: true, value: known.server };
    },
    forget: () => {
      known = undefined;
    },
  };
};
