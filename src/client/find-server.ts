import { readFileSync } from "node:fs";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import type { ServerFile } from "../services/http/discovery/announce.ts";
import { askServer, parseJson } from "../services/http/loopback.ts";
import { toSingleLine } from "../services/platform/plain-text.ts";
import { isAlive } from "../services/platform/process-identity.ts";
import { readServerKey } from "../services/platform/server-key.ts";
import { type ApiResult, apiFailure, has } from "./api-types.ts";

/** A server that has proven that it is the one that `server.json` describes. */
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
  if (!has(value, "number", "port", "pid") || !has(value, "string", "startedAt")) return false;
  const { port, pid, token } = value;
  const isPort = Number.isInteger(port) && Number(port) > 0 && Number(port) < 65_536;
  return isPort && Number.isInteger(pid) && Number(pid) > 0 && (token === undefined || typeof token === "string");
};

/** Returns what `server.json` says; undefined when there is none. */
const readServerFile = (path: string): ApiResult<ServerFile | undefined> => {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return { ok: true, value: undefined };
    return apiFailure("unreadable", `${path} cannot be read: ${toSingleLine(String(error))}.`);
  }
  const value = parseJson(text);
  if (isServerFile(value)) return { ok: true, value };
  return apiFailure(
    "unreadable",
    `${path} does not describe a server. Remove it: OpenCode writes it again within 2 seconds.`,
  );
};

const differenceTo = (version: string): string | undefined =>
  version === manifest.version
    ? undefined
    : `OpenCode runs opencode-taskchart ${toSingleLine(version)}, and this is ${manifest.version}. Update the older one, and restart OpenCode.`;

/**
 * Finds the server that `server.json` of a data folder describes, and has it prove that it is that one, anew at each call: the
 * file may be left over, and then anybody may listen there. The folder need not exist.
 */
export const findServer = async (folder: string): Promise<ApiResult<FoundServer>> => {
  const path = join(folder, "server.json");
  const file = readServerFile(path);
  if (!file.ok) return file;
  if (!file.value) return apiFailure("notRunning", `${START} There is no server.json in ${folder}.`);
  const { port, pid, startedAt, token } = file.value;
  const answer = await askServer(file.value, keyOf(folder), PROBE_TIMEOUT_MS);
  if (answer === "silent") {
    return apiFailure(
      "silent",
      `OpenCode (process ${pid}, port ${port}) does not answer: it is stopped or busy. Try again.`,
    );
  }
  if (typeof answer?.version !== "string") {
    const why = isAlive(pid)
      ? `what listens at port ${port} has not proven that it is the server that it describes`
      : `process ${pid}, which wrote it, has ended`;
    return apiFailure("notRunning", `${START} ${path} is left over: ${why}.`);
  }
  const server = { port, token, pid, startedAt, version: answer.version };
  const versionDifference = differenceTo(answer.version);
  return { ok: true, value: versionDifference === undefined ? server : { ...server, versionDifference } };
};

/** Returns the key that the server proves itself with; undefined where there is none that can be read. */
const keyOf = (folder: string): string | undefined => {
  try {
    return readServerKey(folder);
  } catch {
    return undefined;
  }
};
