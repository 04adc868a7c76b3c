import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { describeInChromium, openPage } from "../browser/chromium.ts";
import { opencodeTaskchart } from "../cli/command-line.ts";
import { type Lab, startLab } from "./lab/lab.ts";
import { type OpenCode, startOpenCode } from "./lab/opencode.ts";
import { hang } from "./lab/reply.ts";
import { dataFolder, served, serverFile } from "./status-api.ts";
import { storedTasks } from "./stored.ts";
import { inChild, launchFrom } from "./tasks-and-notices.ts";

/** For what takes several steps of several processes, on a machine that is busy with other tests. */
const PATIENCE = 60_000;

const built = new URL("../../", import.meta.url).href;

let lab: Lab;

beforeEach(async () => {
  lab = await startLab();
  await served(lab);
});

afterEach(() => lab.stop());

test("a program that takes the port of a killed OpenCode gets nothing of the command, and is not believed", async () => {
  const parent = await lab.session();
  lab.model.when(inChild("outlive the server"), hang());
  const [task = ""] = await launchFrom(lab, parent, ["outlive the server"]);
  const { url, pid } = serverFile(lab);
  const health: unknown = await (await fetch(`${url}/v1/health`)).json();
  await lab.opencode.kill();

  const requests: IncomingMessage[] = [];
  const pretender = createServer((request, response) => {
    requests.push(request);
    const lie = { sessionID: task, status: "completed", result: "a lie" };
    const isHealth = request.url?.startsWith("/v1/health");
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(isHealth ? health : { tasks: [lie], total: 1, limit: 50, offset: 0 }));
  }).listen(Number(new URL(url).port), "127.0.0.1");
  await once(pretender, "listening");
  try {
    expect(serverFile(lab).pid).toBe(pid);
    const data = ["--data", dataFolder(lab)];
    for (const args of [
      ["list"],
      ["steer", task, "the secret plan"],
      ["cancel", task, "--yes"],
      ["open", "--print"],
      ["doctor"],
    ]) {
      const { out, error } = await opencodeTaskchart([...args, ...data]);
      expect({ args, isBelieved: `${out}${error}`.includes("a lie") }).toEqual({ args, isBelieved: false });
      expect(out).not.toContain(serverFile(lab).token);
    }
    expect(requests.length).toBeGreaterThan(0);
    expect(requests.filter(({ method, url }) => method !== "GET" || !url?.startsWith("/v1/health?"))).toEqual([]);
    expect(requests.filter(({ headers }) => headers.authorization !== undefined)).toEqual([]);
  } finally {
    pretender.closeAllConnections();
    pretender.close();
  }
});

describeInChromium("with two OpenCodes", () => {
  let other: OpenCode;

  beforeEach(async () => {
    other = await startOpenCode({ ...lab.options, plugins: [[built, { inspect: true }]] });
    const file = join(dataFolder(lab), "instances", `${other.pid}.json`);
    await other.client.session.create();
    await lab.until(() => existsSync(file) && readFileSync(file, "utf8").includes("/inspect"), {
      what: "the second one serves",
      timeoutMs: PATIENCE,
    });
  });

  afterEach(() => other.stop());

  test("the board of one names the live view of the other, and goes on with that when its own ends", async () => {
    const parent = await lab.session();
    lab.model.when(inChild("go on elsewhere"), hang());
    const [task = ""] = await launchFrom(lab, parent, ["go on elsewhere"]);
    const instance = (pid: number) =>
      JSON.parse(readFileSync(join(dataFolder(lab), "instances", `${pid}.json`), "utf8")) as { url: string };
    const { url, token } = serverFile(lab);
    const elsewhere = instance(other.pid).url;
    const { page } = await openPage(`${url}/?task=${task}#token=${token}`, { origins: [elsewhere] });
    const cancel = page.getByRole("button", { name: "Cancel task" });
    await expect.poll(() => cancel.isEnabled(), { timeout: PATIENCE }).toBe(true);
    const live = page.getByRole("link", { name: `Live view of process ${other.pid}` });
    await expect.poll(() => live.getAttribute("href"), { timeout: PATIENCE }).toBe(`${elsewhere}/inspect`);
    const off = await fetch(`${url}/inspect`);
    expect(await off.text()).toContain(`it is on at ${elsewhere}/inspect (process ${other.pid})`);

    await lab.opencode.kill();
    await expect.poll(() => page.url(), { timeout: PATIENCE }).toBe(`${elsewhere}/?task=${task}`);
    await expect.poll(() => page.locator(".connection").textContent(), { timeout: PATIENCE }).toBe("Live");
    expect(await page.evaluate(() => sessionStorage.getItem("taskchart.token"))).toBe(token);
    await expect.poll(() => serverFile(lab).pid, { timeout: PATIENCE }).toBe(other.pid);
    await expect.poll(() => cancel.isEnabled(), { timeout: PATIENCE }).toBe(true);
    await cancel.click();
    await page.getByRole("button", { name: "Cancel it" }).click();
    const isCancelled = () => storedTasks(lab).some(({ id, status }) => id === task && status === "cancelled");
    await lab.until(isCancelled, { what: "the task is cancelled by the second OpenCode", timeoutMs: PATIENCE });
    await page.getByRole("link", { name: `Live view of process ${other.pid}` }).click();
    await expect.poll(() => page.url(), { timeout: PATIENCE }).toBe(`${elsewhere}/inspect`);
  });
});
