// The board's token is in the fragment of its address, which no browser sends to a server or writes into a log.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { isOwnConnection } from "../../services/http/access/socket-owner.ts";
import { LOOPBACK } from "../../services/http/loopback.ts";
import { type CommandContext, CommandError, command, examples, printJson, TASK_ID, taskIdOf } from "../command.ts";
import { openClient, received } from "../task-source.ts";

/** Milliseconds that a browser gets to start and to ask for the page. */
const BROWSER_TIMEOUT_MS = 30_000;

/** Returns the command that opens an address in the user's browser; undefined where there can be none. */
const openerFor = (url: string, env: NodeJS.ProcessEnv): [program: string, ...args: string[]] | undefined => {
  if (env.BROWSER) return [env.BROWSER, url];
  if (process.platform === "darwin") return ["open", url];
  if (process.platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler", url];
  // Without a display, a program of this name asks questions in the terminal, or starts a browser in it.
  return env.DISPLAY || env.WAYLAND_DISPLAY ? ["xdg-open", url] : undefined;
};

/** True when the user's own program is at the other end. It is known on Linux only. */
const isOwn = async ({ socket }: IncomingMessage): Promise<boolean> => {
  if (process.platform !== "linux") return true;
  const { localAddress = "", localPort = 0, remoteAddress = "", remotePort = 0 } = socket;
  return isOwnConnection({
    local: { address: localAddress, port: localPort },
    remote: { address: remoteAddress, port: remotePort },
  });
};

/**
 * Opens an address that holds a secret in the user's browser. Other users of this machine can read the arguments of every
 * process, so the browser is started with another address, which leads to this one: once, and for this user alone.
 * @returns false when no browser could be started, or none came within `timeoutMs`
 */
export const openInBrowser = async (
  url: string,
  { env = process.env, timeoutMs = BROWSER_TIMEOUT_MS }: { env?: NodeJS.ProcessEnv; timeoutMs?: number } = {},
): Promise<boolean> => {
  const path = `/${randomBytes(16).toString("base64url")}`;
  const { promise: done, resolve: end } = Promise.withResolvers<boolean>();
  const server = createServer(async (request, response) => {
    if (request.url !== path || !(await isOwn(request))) return response.writeHead(404).end();
    response.writeHead(302, { Location: url, "Cache-Control": "no-store", Connection: "close" });
    response.end(() => end(true));
  });
  server.listen(0, LOOPBACK);
  await once(server, "listening");
  const [program, ...args] =
    openerFor(`http://${LOOPBACK}:${(server.address() as AddressInfo).port}${path}`, env) ?? [];
  const timer = setTimeout(end, timeoutMs, false);
  try {
    if (program === undefined) return false;
    const child = spawn(program, args, { stdio: "ignore", detached: true, env });
    child.on("error", () => end(false));
    // One that ends well has handed the address to a browser that runs already.
    child.on("exit", (code) => {
      if (code !== 0) end(false);
    });
    child.unref();
    return await done;
  } finally {
    clearTimeout(timer);
    server.close();
    server.closeAllConnections();
  }
};

export const openCommand = ({ terminal }: CommandContext) =>
  command("open", "open the board in your browser, and let it act")
    .argument("[task-id]", `${TASK_ID}; without it, the board opens with all tasks`)
    .option("--print", "print the address with its token, and open nothing")
    .addHelpText(
      "after",
      `
The board can then answer, steer, resume and cancel tasks, until its tab is closed or OpenCode ends. OpenCode must be
running. Where no browser can be opened, the address is printed: who has it can do the same.
${examples(["open", "all tasks"], ["open 4f5c9a", "one task"])}`,
    )
    .action(async (id, { json, data, print }) => {
      const client = openClient(data);
      const { port, token } = received(await client.server());
      if (token === undefined) {
        throw new CommandError("server.json has no token: OpenCode runs an older version of the plugin. Update it.");
      }
      const task = id === undefined ? undefined : received(await client.task(taskIdOf(id)));
      const query = task === undefined ? "" : `?task=${encodeURIComponent(task.sessionID)}`;
      const board = `http://${LOOPBACK}:${port}/${query}`;
      const url = `${board}#token=${token}`;
      if (json) return printJson(terminal, { url });
      if (print) return terminal.print(url);
      if (await openInBrowser(url)) return terminal.print(`The board is open at ${board}.`);
      terminal.print("No browser could be opened. Open this address, which lets whoever has it act:", url);
    });
