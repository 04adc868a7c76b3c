import { createInterface } from "node:readline";
import { startStatusServer } from "../../../src/services/http/server/status-server.ts";
import { type Clock, systemClock } from "../../../src/services/platform/clock.ts";
import { createFakeSource } from "../../fakes/status-source.ts";
import type { ChildOptions } from "./child.ts";

/** Started by `startChild`. Serves until it is told to stop. Its stdin keeps it alive; the server must not. */
const { folder, slowLogs, listens, pace = 1 }: ChildOptions = JSON.parse(process.argv[2] ?? "");
const say = (line: string) => void process.stdout.write(`${line}\n`);

if (listens) {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => {
      say(`the host heard ${signal}`);
      setTimeout(() => process.exit(7), 100);
    });
  }
}

const source = createFakeSource(systemClock);
source.launch();
const { promise: told, resolve: answer } = Promise.withResolvers<void>();
if (slowLogs) {
  source.logs = async () => {
    say("logs are asked for");
    await told;
    return { ok: true, value: [{ text: "slow" }] };
  };
}

const log = { info: () => undefined, error: (message: string) => say(`error: ${message}`) };
const env = { ASYNCAGENTS_API_PORT: process.env.ASYNCAGENTS_API_PORT };
const clock: Clock = { ...systemClock, after: (ms, fire) => systemClock.after(ms / pace, fire) };
const parts = { source, folder, env, log, clock, version: "1.2.3", allowedOrigins: [] };
const server = await startStatusServer(parts);
if (!server) throw new Error("the server did not start");

const input = createInterface({ input: process.stdin });
input.on("line", (word) => {
  if (word === "answer") answer();
  if (word === "exit") process.exit(3);
  if (word === "rest") process.stdin.destroy();
  if (word === "stop") void server.stop().then(() => process.stdin.destroy());
});
say(JSON.stringify({ pid: process.pid, url: server.url, port: server.port, token: server.token }));
