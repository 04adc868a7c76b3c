import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Lab, startLab } from "./lab/lab.ts";
import { text } from "./lab/reply.ts";
import { setUp } from "./lab/set-up.ts";
import { served } from "./status-api.ts";
import { inChild, launchFrom, notified } from "./tasks-and-notices.ts";

const built = new URL("../../dist/index.js", import.meta.url).href;

let lab: Lab;

setUp(async () => {
  lab = await startLab({ plugin: [built, { inspect: true }] });
  await served(lab);
  return () => lab.stop();
});

const url = (): string =>
  JSON.parse(readFileSync(join(lab.options.home, "data", "opencode-taskchart", "server.json"), "utf8")).url;

/** On a connection of its own: one that is kept may lead to the server before the restart, which had the same port. */
const ask = (path: string, signal?: AbortSignal): Promise<Response> =>
  fetch(url() + path, { headers: { connection: "close" }, ...(signal ? { signal } : {}) });

/** What a stream of events begins with, that has all that has happened by now. */
const beginning = async (path: string): Promise<string> => {
  const reading = new AbortController();
  const { body } = await ask(path, reading.signal);
  let heard = "";
  for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    heard += chunk;
    if (heard.includes("\n\n")) break;
  }
  reading.abort();
  return heard;
};

const complete = async (prompt: string): Promise<string> => {
  const parent = await lab.session();
  lab.model.when(inChild(prompt), text("a secret answer"));
  const [id = ""] = await launchFrom(lab, parent, [prompt]);
  await notified(lab, parent, [id]);
  return id;
};

test("the built plugin serves the page in the real OpenCode, and every step of a task, but nothing of what was said", async () => {
  const id = await complete("count in secret");
  const page = await ask("/inspect");
  expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
  expect(await page.text()).toContain('<template data-chart="task"><svg');
  const steps = await beginning("/inspect/events");
  expect(steps).toContain(id);
  expect(steps).toContain("CHECKED_ANSWERED");
  expect(steps).not.toContain("secret");
});

test("Stately's inspector is loaded from beside it when it is asked for", async () => {
  await lab.restart({ plugin: [built, { inspect: "stately" }] });
  await served(lab);
  const id = await complete("count once more");
  expect(await (await ask("/inspect/stately")).text()).toContain("https://stately.ai/inspect");
  const messages = await beginning("/inspect/stately/events");
  expect(messages).toContain('"@xstate.actor"');
  expect(messages).not.toContain("secret");
  expect(id).toMatch(/^ses_/);
  expect((await ask("/inspect")).status).toBe(404);
});
