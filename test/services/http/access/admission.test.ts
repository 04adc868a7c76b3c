import { Buffer } from "node:buffer";
import { Hono } from "hono";
import { describe, expect, test } from "vitest";
import {
  createAdmissions,
  createReadGuard,
  createTokenGuard,
  type ReadRules,
  rejectionOf,
} from "../../../../src/services/http/access/admission.ts";
import type { AppEnv, ClientConnection } from "../../../../src/services/http/access/request-handling.ts";
import type { Endpoints } from "../../../../src/services/http/access/socket-owner.ts";

const TOKEN = "a-token-of-some-length";
const HOW = 'Send "Authorization: Bearer" and the token in server.json';

describe("a request that is rejected whoever sends it", () => {
  const HOST = "localhost:5165";
  const to = (headers: Record<string, string> = {}, path = "/v1/tasks", allowed: string[] = []) =>
    rejectionOf(new Request(`http://localhost:5165${path}`, { headers: { host: HOST, ...headers } }), allowed);

  test("is one to another name than this machine's", () => {
    expect(to()).toBeUndefined();
    const error = 'Host "evil.example" is not served: use localhost or 127.0.0.1.';
    expect(to({ host: "evil.example" })).toEqual({ status: 403, error });
    expect(rejectionOf(new Request("http://localhost/"), [])).toEqual({
      status: 403,
      error: 'Host "" is not served: use localhost or 127.0.0.1.',
    });
  });

  test("is one of a page of another origin, unless that is allowed", () => {
    const error = 'Origin "https://evil.example" is not served: it is not one of the allowed origins.';
    expect(to({ origin: "https://evil.example" })).toEqual({ status: 403, error });
    expect(to({ origin: "https://evil.example" }, "/", ["https://dash.example"])).toEqual({ status: 403, error });
    expect(to({ origin: "https://dash.example" }, "/", ["https://dash.example"])).toBeUndefined();
    expect(to({ origin: "http://127.0.0.1:3000" })).toBeUndefined();
  });

  test("is one of a page of another site that does not say its origin", () => {
    const error = "A page of another site has requested this. Open the address directly.";
    for (const site of ["cross-site", "same-site"]) {
      expect(to({ "sec-fetch-site": site })).toEqual({ status: 403, error });
      // Of a page that says its origin, that decides.
      expect(to({ "sec-fetch-site": site, origin: "http://localhost:3000" })).toBeUndefined();
    }
    const link = { "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
    expect(to({ "sec-fetch-site": "cross-site", ...link })).toEqual({ status: 403, error });
    expect(to({ "sec-fetch-site": "same-site", ...link, "sec-fetch-dest": "iframe" })).toEqual({ status: 403, error });
    // A page of this machine links to it.
    expect(to({ "sec-fetch-site": "same-site", ...link })).toBeUndefined();
    for (const site of ["same-origin", "none"]) expect(to({ "sec-fetch-site": site })).toBeUndefined();
  });

  test("is one with an address that is too long", () => {
    const base = "http://localhost:5165/".length;
    expect(to({}, `/${"a".repeat(8_192 - base)}`)).toBeUndefined();
    const error = "The URL is too long: at most 8192 characters are accepted.";
    expect(to({}, `/${"a".repeat(8_193 - base)}`)).toEqual({ status: 414, error });
  });
});

describe("what several open directories admit", () => {
  test("are the origins that any of them allows, as long as it is open", () => {
    const admissions = createAdmissions();
    expect(admissions.origins()).toEqual([]);
    const close = admissions.add({ allowedOrigins: ["https://a.example"], reads: "user" });
    admissions.add({ allowedOrigins: ["https://b.example"], reads: "user" });
    expect(admissions.origins()).toEqual(["https://a.example", "https://b.example"]);
    close();
    expect(admissions.origins()).toEqual(["https://b.example"]);
  });

  test("are the readers that the strictest of them admits, and the user where none is open", () => {
    const admissions = createAdmissions();
    expect(admissions.reads()).toBe("user");
    const directory = { allowedOrigins: [], reads: "open" } as const;
    admissions.add(directory);
    expect(admissions.reads()).toBe("open");
    const closeUser = admissions.add({ ...directory, reads: "user" });
    expect(admissions.reads()).toBe("user");
    const closeToken = admissions.add({ ...directory, reads: "token" });
    expect(admissions.reads()).toBe("token");
    closeToken();
    closeUser();
    // The same rules twice are those of two directories.
    admissions.add(directory)();
    expect(admissions.reads()).toBe("open");
  });
});

const connection = (endpoints?: Endpoints): { connection: ClientConnection } => ({
  connection: {
    ...{ endpoints, abort: () => undefined, disableTimeout: () => undefined },
    ...{ maxStreamBytes: undefined, unsentBytes: () => 0 },
  },
});

describe("a request that changes a task", () => {
  const app = new Hono<AppEnv>().use(createTokenGuard(TOKEN)).all("*", (c) => c.text("done"));
  const ask = (authorization?: string) =>
    app.request("/v1/tasks/ses_1/cancel", {
      method: "POST",
      headers: authorization === undefined ? {} : { authorization },
    });

  test.each([`Bearer ${TOKEN}`, `bearer ${TOKEN}`, `Bearer   ${TOKEN}`])("passes with the token: %s", async (given) => {
    expect(await (await ask(given)).text()).toBe("done");
  });

  test.each([
    [undefined, "no token was given"],
    ["", "no token was given"],
    ["Bearer", "no token was given"],
    [`NoBearer ${TOKEN}`, "no token was given"],
    [`Bearer${TOKEN}`, "no token was given"],
    [`Bearer ${TOKEN} more`, "no token was given"],
    [`Basic ${Buffer.from(`:${TOKEN}`).toString("base64")}`, "no token was given"],
    [`Bearer ${TOKEN}x`, "the token is wrong"],
    ["Bearer x", "the token is wrong"],
  ])("does not pass with %s: %s", async (given, problem) => {
    const answer = await ask(given);
    expect(await answer.json()).toEqual({ status: 401, error: `Not allowed: ${problem}. ${HOW}.` });
    expect([answer.status, answer.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    expect(answer.headers.get("cache-control")).toBe("no-store");
  });
});

describe("a request that reads", () => {
  const ENDS: Endpoints = { remote: { address: "127.0.0.1", port: 1 }, local: { address: "127.0.0.1", port: 2 } };
  const guarded = (rules: Partial<ReadRules> = {}) =>
    new Hono<AppEnv>()
      .use(
        createReadGuard({
          token: TOKEN,
          reads: () => "user",
          isPasswordSet: false,
          isOwn: async () => false,
          ...rules,
        }),
      )
      .all("*", (c) => c.text("read"));

  const read = async (
    rules: Partial<ReadRules> = {},
    { path = "/v1/tasks", method = "GET", authorization = "", endpoints = ENDS as Endpoints | undefined } = {},
  ) => {
    const headers: Record<string, string> = authorization === "" ? {} : { authorization };
    const answer = await guarded(rules).request(path, { method, headers }, connection(endpoints));
    const problem = answer.ok ? undefined : ((await answer.json()) as { error: string }).error;
    return { status: answer.status, problem, scheme: answer.headers.get("www-authenticate") };
  };

  const passed = { status: 200, problem: undefined, scheme: null };
  const rejected = (reason: string) => ({
    ...{ status: 401, scheme: "Bearer" },
    problem: `Not allowed: ${reason}. ${HOW}; in a browser, enter the token as the password.`,
  });
  const NOT_CONFIRMED = "the system does not confirm that this comes from the user who runs OpenCode";
  const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;

  test("is granted to the user who runs OpenCode, where the system says that it comes from there", async () => {
    expect(await read({ isOwn: async () => true })).toEqual(passed);
    expect(await read({ isOwn: async () => false })).toEqual(rejected(NOT_CONFIRMED));
    const unknown = await guarded({ isOwn: async () => true }).request("/v1/tasks", {}, connection());
    expect(unknown.status).toBe(401);
  });

  test("has the owner of its connection looked up once", async () => {
    let lookups = 0;
    const app = guarded({
      isOwn: async () => {
        lookups += 1;
        return true;
      },
    });
    for (let times = 0; times < 3; times += 1) {
      expect((await app.request("/v1/tasks", {}, connection(ENDS))).status).toBe(200);
    }
    await app.request("/v1/tasks", {}, connection({ ...ENDS }));
    expect(lookups).toBe(2);
  });

  test("is granted as the option says", async () => {
    expect(await read({ reads: () => "open" })).toEqual(passed);
    expect(await read({ reads: () => "token", isOwn: async () => true })).toEqual(
      rejected('the option api.reads is "token"'),
    );
  });

  test("needs the token where OpenCode's own server needs a password, whatever the option says", async () => {
    const reason = "OPENCODE_SERVER_PASSWORD is set, so reading requires the token";
    expect(await read({ isPasswordSet: true, reads: () => "open" })).toEqual(rejected(reason));
    expect(await read({ isPasswordSet: true }, { authorization: `Bearer ${TOKEN}` })).toEqual(passed);
  });

  test.each([
    `Bearer ${TOKEN}`,
    basic(`:${TOKEN}`),
    basic(`anybody:${TOKEN}`),
    `basic   ${basic(`:${TOKEN}`).slice(6)} `,
  ])("is granted with the token, also as a password: %s", async (authorization) => {
    expect(await read({ reads: () => "token" }, { authorization })).toEqual(passed);
  });

  test.each([
    `Bearer ${TOKEN}x`,
    basic(TOKEN),
    basic(`:${TOKEN}x`),
    basic(`${TOKEN}:`),
    `NotBasic ${basic(`:${TOKEN}`).slice(6)}`,
    `${basic(`:${TOKEN}`)} more`,
  ])("is not granted with anything else: %s", async (authorization) => {
    expect((await read({ reads: () => "token" }, { authorization })).status).toBe(401);
  });

  test("of the server's health, and of pages that know nothing by themselves, is granted to everybody", async () => {
    for (const path of ["/v1/health", "/", "/docs"]) expect(await read({}, { path })).toEqual(passed);
    for (const path of ["/v1/healthy", "/docs/x", "/v1"]) expect((await read({}, { path })).status).toBe(401);
  });

  test("of a page has the browser ask for the password", async () => {
    expect((await read({}, { path: "/live" })).scheme).toBe('Basic realm="opencode-taskchart"');
    expect((await read({}, { path: "/v1/stats" })).scheme).toBe("Bearer");
  });

  test("by HEAD is guarded, too; what changes something is guarded elsewhere", async () => {
    expect((await guarded().request("/v1/tasks", { method: "HEAD" }, connection(ENDS))).status).toBe(401);
    for (const method of ["POST", "OPTIONS"]) expect(await read({}, { method })).toEqual(passed);
  });
});
