import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openInBrowser } from "../../../src/cli/commands/open.ts";
import { serve, temporaryFolder } from "../../services/http/served.ts";
import { commandHere } from "../command-line.ts";

const SECRET = "http://127.0.0.1:9/#token=secret";

/** A browser of this machine: a script in place of one, which is given an address. */
const browser = (script: string) => {
  const folder = temporaryFolder();
  const [path, came] = [join(folder, "browser"), join(folder, "came")];
  const body = `const { writeFileSync } = require("node:fs"); const url = process.argv[2]; ${script}`;
  writeFileSync(join(folder, "browser.cjs"), `const came = ${JSON.stringify(came)}; ${body}`);
  writeFileSync(path, `#!/bin/sh\nexec "${process.execPath}" "${join(folder, "browser.cjs")}" "$@"\n`);
  chmodSync(path, 0o755);
  return { env: { ...process.env, BROWSER: path }, came: () => JSON.parse(readFileSync(came, "utf8")) };
};

const FOLLOW = `fetch(url, { redirect: "manual" }).then((answer) =>
  writeFileSync(came, JSON.stringify({ url, status: answer.status, location: answer.headers.get("location") })));`;

test("--print and --json give the address of the board with its token, and of one task", async () => {
  const { folder, server, source } = await serve();
  const { sessionID } = source.launch({ sessionID: "ses_d123456" });
  const run = (...args: string[]) => commandHere(["open", ...args, "--data", folder]);
  expect(await run("--print")).toEqual({ code: 0, out: `${server.url}/#token=${server.token}\n`, error: "" });
  expect((await run("--print", "d1234")).out).toBe(`${server.url}/?task=${sessionID}#token=${server.token}\n`);
  expect(JSON.parse((await run("--json")).out)).toEqual({ url: `${server.url}/#token=${server.token}` });
  expect((await run("--print", "x")).error).toContain('There is no task "ses_x".');
});

test("the browser is led to the address, which is not among the arguments that all users of the machine can read", async () => {
  const { env, came } = browser(FOLLOW);
  expect(await openInBrowser(SECRET, { env })).toBe(true);
  await expect.poll(came).toMatchObject({ status: 302, location: SECRET });
  expect(came().url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{22}$/);
  await expect(fetch(came().url)).rejects.toThrow();
});

test("another address at the same port leads nowhere", async () => {
  const { env, came } = browser(
    `fetch(url + "x", { redirect: "manual" }).then(async ({ status }) => {
      writeFileSync(came, JSON.stringify({ status }));
      await fetch(url, { redirect: "manual" });
    });`,
  );
  expect(await openInBrowser(SECRET, { env })).toBe(true);
  await expect.poll(came).toEqual({ status: 404 });
});

test("a browser that fails, or that is not there, is none", async () => {
  const { env } = browser("process.exit(3);");
  expect(await openInBrowser(SECRET, { env })).toBe(false);
  expect(await openInBrowser(SECRET, { env: { BROWSER: "/no/such/browser" } })).toBe(false);
  if (process.platform === "linux") expect(await openInBrowser(SECRET, { env: {} })).toBe(false);
});
