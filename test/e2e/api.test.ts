import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Lab, startLab } from "./lab/lab.ts";
import { startOpenCode } from "./lab/opencode.ts";
import { hang, text } from "./lab/reply.ts";
import { setUp } from "./lab/set-up.ts";
import { dataFolder, served, serverFile, statusApi } from "./status-api.ts";
import { inChild, launchFrom, notified } from "./tasks-and-notices.ts";

let lab: Lab;

setUp(async () => {
  lab = await startLab();
  await served(lab);
  return () => lab.stop();
});

const folder = () => dataFolder(lab);
const get = (path: string) => statusApi(lab).get(path);
const post = (path: string, body?: unknown) => statusApi(lab).post(path, body);

test("a task that an agent launched is listed, with its whole conversation", { tags: "gate" }, async () => {
  const parent = await lab.session();
  lab.model.when(inChild("count for the page"), text("There are 12."));
  const [id = ""] = await launchFrom(lab, parent, ["count for the page"]);
  await notified(lab, parent, [id]);
  expect(serverFile(lab).pid).toBe(lab.opencode.pid);
  const { body: health } = await get("/v1/health");
  expect(health).toMatchObject({ status: "ok", taskCount: 1 });
  const { body: page } = await get("/v1/tasks?search=FOR%20the%20page");
  expect(page).toMatchObject({ total: 1, tasks: [{ sessionID: id, status: "completed", result: "There are 12." }] });
  const { body: logs } = await get(`/v1/tasks/${id}/logs`);
  expect(logs).toEqual(await lab.messages(id));
  const { body: journal } = await get(`/v1/tasks/${id}/events`);
  expect(JSON.stringify(journal)).toContain("CHECKED_ANSWERED");
});

test("what happens to a task comes as events, after a snapshot", async () => {
  const reading = new AbortController();
  const stream = await fetch(`${serverFile(lab).url}/v1/events`, { signal: reading.signal });
  let heard = "";
  const listening = (async () => {
    for await (const chunk of stream.body?.pipeThrough(new TextDecoderStream()) ?? []) heard += chunk;
  })().catch(() => undefined);
  await lab.until(() => heard.includes("event: snapshot"), { what: "the snapshot comes" });
  const parent = await lab.session();
  lab.model.when(inChild("show it live"), text("shown"));
  const [id = ""] = await launchFrom(lab, parent, ["show it live"]);
  const hasArrived = (event: string) =>
    heard.split("\n\n").some((block) => block.includes(`event: ${event}`) && block.includes(id));
  for (const event of ["task.created", "task.completed"]) {
    await lab.until(() => hasArrived(event), { what: `${event} comes` });
  }
  reading.abort();
  await listening;
});

test("a person cancels a task by it, and resumes another; both are delivered to the agent", {
  tags: "gate",
}, async () => {
  const parent = await lab.session();
  lab.model.when(inChild("run for ever"), hang());
  lab.model.when(inChild("answer twice"), text("first"));
  const [endless = "", answered = ""] = await launchFrom(lab, parent, ["run for ever", "answer twice"]);
  await notified(lab, parent, [answered]);
  expect((await post(`/v1/tasks/${endless}/cancel`)).body).toMatchObject({ status: "cancelled" });
  expect((await post(`/v1/tasks/${endless}/cancel`)).status).toBe(409);
  await notified(lab, parent, [endless]);
  lab.model.when(inChild("once more"), text("second"));
  expect((await post(`/v1/tasks/${answered}/resume`, { prompt: "once more" })).body).toMatchObject({ resumeCount: 1 });
  const isAnswered = async () =>
    JSON.stringify((await get(`/v1/tasks/${answered}`)).body).includes('"result":"second"');
  await lab.until(isAnswered, { what: "it is resumed, and answered" });
});

test("nothing of the live view is served where its option is not given", async () => {
  for (const path of ["/inspect", "/inspect/events", "/inspect/stately", "/inspect/stately/events"]) {
    const { status } = await fetch(serverFile(lab).url + path);
    expect({ path, status }).toEqual({ path, status: 404 });
  }
});

describe("the files that lead to it", () => {
  const instanceOf = (pid: number) => join(folder(), "instances", `${pid}.json`);

  /** Ends an OpenCode with this signal, and waits until it is gone. */
  const end = async (pid: number, signal: "SIGTERM" | "SIGINT") => {
    process.kill(pid, signal);
    const isGone = () => {
      try {
        process.kill(pid, 0);
        return false;
      } catch {
        return true;
      }
    };
    await lab.until(isGone, { what: `it ends with ${signal}` });
  };

  test("are gone when OpenCode ends with SIGINT, and those of another OpenCode are untouched", async () => {
    const other = await startOpenCode(lab.options);
    await other.client.session.list();
    await lab.until(() => existsSync(instanceOf(other.pid)), { what: "it is announced" });
    // Each has a port of its own: a token is good for one server.
    expect(JSON.parse(readFileSync(instanceOf(other.pid), "utf8")).url).not.toBe(serverFile(lab).url);
    await end(other.pid, "SIGINT");
    expect(existsSync(instanceOf(other.pid))).toBe(false);
    expect(serverFile(lab).pid).toBe(lab.opencode.pid);
  });

  test("are gone when OpenCode ends with SIGTERM", { tags: "gate" }, async () => {
    const { pid } = lab.opencode;
    expect(existsSync(instanceOf(pid))).toBe(true);
    await end(pid, "SIGTERM");
    expect(existsSync(instanceOf(pid))).toBe(false);
    expect(existsSync(join(folder(), "server.json"))).toBe(false);
  });

  test("are not written, and nothing is served, when it is switched off; tasks go on as ever", async () => {
    await lab.restart({ env: { ASYNCAGENTS_API_ENABLED: "false" } });
    const parent = await lab.session();
    const [id = ""] = await launchFrom(lab, parent, ["a task without a page"]);
    expect(await notified(lab, parent, [id])).toHaveLength(1);
    expect(existsSync(join(folder(), "server.json"))).toBe(false);
    expect(readdirSync(join(folder(), "instances"))).toEqual([]);
  });
});
