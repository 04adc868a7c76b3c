import { expect, test } from "vitest";
import { MAX_UNREAD_BYTES } from "../../../src/services/http/events/sse-stream.ts";
import { type LivePage, MAX_VIEWERS } from "../../../src/services/http/pages.ts";
import { createListeners } from "../../../src/services/platform/listeners.ts";
import { open, request, send } from "./raw.ts";
import { serve } from "./served.ts";

/** Slightly longer than steps are gathered. */
const MOMENT = 50;

/** A page that shows words. */
const createWords = () => {
  const words: string[] = [];
  const listeners = createListeners();
  let isOn = true;
  let isReadable = true;
  const page: LivePage = {
    path: "/inspect",
    howToSwitchOn: "say so",
    source: {
      isOn: () => isOn,
      since: (number) => ({ upTo: words.length, words: words.slice(number) }),
      onChange: listeners.add,
    },
    html: () => {
      if (!isReadable) throw new Error("no such file");
      return '<script nonce="{{nonce}}"></script><style nonce="{{nonce}}"></style>';
    },
  };
  return {
    page,
    say: (word: string) => {
      words.push(word);
      listeners.notify();
    },
    switchOff: () => {
      isOn = false;
      listeners.notify();
    },
    lose: () => {
      isReadable = false;
    },
  };
};

const served = async (options: { allowedOrigins?: string[] } = {}) => {
  const words = createWords();
  return { ...words, ...(await serve({ ...options, pages: [words.page] })) };
};

test("the page's policy lets it run its own script only, and reach this server only", async () => {
  const { fetch } = await served();
  const answers = [await fetch("/inspect"), await fetch("/inspect")];
  const nonces = [];
  for (const { headers, status } of answers) {
    expect(status).toBe(200);
    expect(headers.get("content-type")).toContain("text/html");
    expect(headers.get("cache-control")).toBe("no-store");
    const policy = headers.get("content-security-policy") ?? "";
    expect(policy).toMatch(
      /^default-src 'none'; script-src 'nonce-[^']+'; style-src 'nonce-[^']+'; connect-src 'self';/,
    );
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("frame-src 'none'");
    nonces.push(/nonce-([^']+)'/.exec(policy)?.[1]);
  }
  const [first, second] = await Promise.all(answers.map((answer) => answer.text()));
  expect(first).toBe(`<script nonce="${nonces[0]}"></script><style nonce="${nonces[0]}"></style>`);
  expect(second).toContain(String(nonces[1]));
  expect(nonces[0]).not.toBe(nonces[1]);
});

test("a late viewer gets everything first, then gathered additions; a viewer that reconnects starts over", async () => {
  const { events, say, clock } = await served();
  say("one");
  const early = await events("/inspect/events");
  expect(early.response.headers.get("content-type")).toContain("text/event-stream");
  expect(await early.next()).toEqual({ id: "1", event: "begin", data: { upTo: 1, words: ["one"] } });
  say("two");
  say("three");
  await clock.advance(MOMENT);
  expect(await early.next()).toEqual({ id: "3", event: "more", data: { upTo: 3, words: ["two", "three"] } });
  say("four");
  const late = await events("/inspect/events");
  expect((await late.next()).data).toEqual({ upTo: 4, words: ["one", "two", "three", "four"] });
  expect((await early.next()).data).toEqual({ upTo: 4, words: ["four"] });
  say("five");
  await clock.advance(MOMENT);
  for (const stream of [early, late]) expect((await stream.next()).data).toEqual({ upTo: 5, words: ["five"] });
  await clock.advance(31_000);
  expect((await late.next()).event).toBe("heartbeat");
});

test("without viewers nothing is read or timed", async () => {
  const { events, say, clock } = await served();
  const before = clock.pending();
  const stream = await events("/inspect/events");
  await stream.next();
  say("one");
  expect(clock.pending()).toBe(before + 2);
  stream.close();
  while (clock.pending() > before) await new Promise(setImmediate);
  say("two");
  expect(clock.pending()).toBe(before);
});

test("while it is off, every request is a 404; switching it off ends the streams", async () => {
  const { events, json, switchOff, clock } = await served();
  const stream = await events("/inspect/events");
  await stream.next();
  switchOff();
  await clock.advance(MOMENT);
  expect(await stream.rest()).toEqual([]);
  for (const path of ["/inspect", "/inspect/events"]) {
    for (const method of ["GET", "POST", "DELETE"]) {
      expect(await json(path, 404, { method })).toMatchObject({ error: expect.stringContaining("It is off: say so") });
    }
  }
});

test("a server without pages has nothing there either", async () => {
  const { json } = await serve();
  expect(await json("/inspect", 404)).toEqual({ error: 'There is nothing at "/inspect".', status: 404 });
});

test("a host that is not this machine and a page of another origin are refused", async () => {
  const { server, fetch } = await served({ allowedOrigins: ["https://dash.example"] });
  for (const path of ["/inspect", "/inspect/events"]) {
    const answer = await send(server.port, request("GET", path, { Host: "evil.example" }));
    expect({ path, status: answer.status }).toEqual({ path, status: 403 });
    for (const origin of ["https://evil.example", "null", "https://stately.ai"]) {
      expect({ origin, status: (await fetch(path, { headers: { origin } })).status }).toEqual({ origin, status: 403 });
    }
  }
  expect((await fetch("/inspect", { headers: { origin: "http://localhost:3000" } })).status).toBe(200);
});

test("other methods are a 405 that lists the supported ones", async () => {
  const { json, fetch } = await served();
  expect(await json("/inspect", 405, { method: "POST" })).toMatchObject({ status: 405 });
  expect((await fetch("/inspect", { method: "HEAD" })).status).toBe(200);
  const head = await fetch("/inspect/events", { method: "HEAD" });
  expect([head.status, head.headers.get("allow")]).toEqual([405, "GET, OPTIONS"]);
  expect((await fetch("/inspect/events", { method: "OPTIONS" })).status).toBe(204);
});

test("a page that was not built is a 503 and logged; the API still works", async () => {
  const { json, lose, errors } = await served();
  lose();
  expect(await json("/inspect", 503)).toMatchObject({ error: expect.stringContaining("npm run build") });
  expect(errors.join()).toContain("no such file");
  expect(await json("/v1/health")).toMatchObject({ status: "ok" });
});

test(`there are at most ${MAX_VIEWERS} viewers, in addition to the subscribers of task events`, async () => {
  const { events, json } = await served();
  const streams = [];
  for (let count = 0; count < MAX_VIEWERS; count += 1) streams.push(await events("/inspect/events"));
  expect(await json("/inspect/events", 503)).toMatchObject({ error: expect.stringContaining("10 viewers") });
  expect((await events()).response.status).toBe(200);
  streams[0]?.close();
  while ((await events("/inspect/events")).response.status !== 200) await new Promise(setImmediate);
});

test("a viewer that never reads is dropped; others miss nothing", async () => {
  const { server, events, say, clock } = await served();
  const mute = await open(server.port);
  mute.pause();
  const closed = new Promise((resolve) => mute.once("close", resolve));
  mute.on("error", () => undefined);
  mute.write(request("GET", "/inspect/events", { Connection: "keep-alive" }));
  const stream = await events("/inspect/events");
  await stream.next();
  const word = "x".repeat(256 * 1_024);
  for (let sent = 0; sent < 32 * MAX_UNREAD_BYTES; sent += word.length) {
    say(word);
    await clock.advance(MOMENT);
    expect((await stream.next()).data).toMatchObject({ words: [word] });
  }
  mute.resume();
  await closed;
  say("still there");
  await clock.advance(MOMENT);
  expect((await stream.next()).data).toMatchObject({ words: ["still there"] });
});

test("stopping the server ends the streams, and the pages are not part of the API's description", async () => {
  const { events, json, server } = await served();
  const stream = await events("/inspect/events");
  await stream.next();
  const { paths } = await json("/v1/openapi.json");
  expect(Object.keys(paths as object).filter((path) => !path.startsWith("/v1/"))).toEqual([]);
  const rest = stream.rest();
  await server.stop();
  expect(await rest).toEqual([]);
});
