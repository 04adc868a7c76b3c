import { expect, test } from "vitest";
import type { LivePage } from "../../../src/services/http/pages.ts";
import { serve } from "./served.ts";

const documents = {
  board: () => '<meta content="{{live-view}}"><script nonce="{{nonce}}"></script>',
  reference: () => "<body></body>",
};

const live = (isOn: () => boolean): LivePage => ({
  path: "/inspect",
  howToSwitchOn: "say so",
  source: { isOn, since: () => ({ upTo: 0 }), onChange: () => () => undefined },
  html: () => "",
});

test("the board is at /, with a policy that lets it run its own script only and reach this machine only", async () => {
  const { fetch } = await serve({ documents });
  const answer = await fetch("/");
  expect(answer.headers.get("content-type")).toContain("text/html");
  const policy = answer.headers.get("content-security-policy") ?? "";
  const nonce = /script-src 'nonce-([^']+)'/.exec(policy)?.[1];
  expect(policy.split("; ")).toEqual([
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    "connect-src 'self' http://127.0.0.1:*",
    "img-src data:",
    "frame-src 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
  ]);
  expect(await answer.text()).toBe(`<meta content=""><script nonce="${nonce}"></script>`);
});

test("a page is given a challenge of its own each time, with what the server answers to it", async () => {
  const { fetch, json } = await serve({ documents: { ...documents, board: () => "{{proof}}" } });
  const pages = [await (await fetch("/")).text(), await (await fetch("/")).text()];
  expect(pages[0]).not.toBe(pages[1]);
  for (const page of pages) {
    const [challenge, proof] = page.split(" ");
    expect(await json(`/v1/health?challenge=${challenge}`)).toMatchObject({ proof });
  }
});

test("the board is told where the live view is while that is on", async () => {
  let isOn = true;
  const { fetch } = await serve({ documents, pages: [live(() => isOn)] });
  expect(await (await fetch("/")).text()).toContain('content="/inspect"');
  isOn = false;
  expect(await (await fetch("/")).text()).toContain('content=""');
});

test("pages that know nothing of a task are served without the token, and no task with them", async () => {
  const { fetch, source } = await serve({ documents, env: { OPENCODE_SERVER_PASSWORD: "secret" } });
  source.launch({ description: "hidden" });
  for (const path of ["/", "/docs"]) {
    const answer = await fetch(path);
    expect({ path, status: answer.status }).toEqual({ path, status: 200 });
    expect(await answer.text()).not.toContain("hidden");
  }
  expect((await fetch("/v1/tasks")).status).toBe(401);
});

test("a page of another site cannot embed or read the board", async () => {
  const { fetch } = await serve({ documents });
  expect((await fetch("/", { headers: { origin: "https://evil.example" } })).status).toBe(403);
  expect((await fetch("/", { headers: { "sec-fetch-site": "cross-site" } })).status).toBe(403);
});

test("a page that is missing is a 503 that says how to build it, and is logged", async () => {
  const board = () => {
    throw new Error("no such file");
  };
  const { json, errors } = await serve({ documents: { ...documents, board } });
  expect(await json("/", 503)).toMatchObject({ error: expect.stringContaining("npm run build") });
  expect(errors).toEqual([expect.stringContaining("no such file")]);
});
