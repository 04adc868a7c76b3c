import { spawn } from "node:child_process";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { describeInChromium, openPage } from "../browser/chromium.ts";
import { PATIENCE_MS } from "../patience.ts";
import { type Lab, startLab } from "./lab/lab.ts";
import { calls, hang, text } from "./lab/reply.ts";
import { setUp } from "./lab/set-up.ts";
import { dataFolder, served, serverFile } from "./status-api.ts";
import { childOf, inChild, launching, notified } from "./tasks-and-notices.ts";

const command = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));

const until = <T>(read: () => Promise<T>) => expect.poll(read, { timeout: PATIENCE_MS });

/** The status in words of a task in the list, by its description. */
const standing = (page: Page, description: string) =>
  page
    .locator(".tree [role=treeitem]", { hasText: description })
    .locator(".mark")
    .first()
    .getAttribute("class")
    .then((name) => name?.replace("mark ", ""));

describeInChromium("the board in the real OpenCode", () => {
  let lab: Lab;

  setUp(async () => {
    lab = await startLab({ config: { permission: { bash: "ask" } } });
    await served(lab);
    return () => lab.stop();
  });

  /** Runs `opencode-taskchart open` with a browser in which a person's is replaced: it only says where it was led. */
  const openWithCommand = async (): Promise<string> => {
    const browser = join(lab.options.home, "browser");
    const came = join(lab.options.home, "browser-came");
    writeFileSync(browser, `#!/bin/sh\necho "$1" > "${came}.part" && mv "${came}.part" "${came}"\n`);
    chmodSync(browser, 0o755);
    const opening = spawn(process.execPath, [command, "open", "--data", dataFolder(lab)], {
      env: { ...process.env, BROWSER: browser },
      stdio: ["ignore", "inherit", "inherit"],
    });
    opening.unref();
    await lab.until(() => existsSync(came), { what: "the command starts a browser" });
    return readFileSync(came, "utf8").trim();
  };

  test("a person sees tasks run, one ask a permission, gives it, and sees it end; nothing of the token stays", {
    tags: "gate",
  }, async () => {
    const parent = await lab.session();
    const endless = hang();
    const bash = { name: "bash", args: { command: "echo clean", description: "cleans the build" } };
    lab.model.when(inChild("read it all"), endless);
    lab.model.when(inChild("clean the build"), [calls([bash]), text("The build is clean.")]);

    const address = await openWithCommand();
    const { url, token } = serverFile(lab);
    const { page, faults } = await openPage(address, { origins: [url] });
    await until(() => page.locator(".connection").textContent()).toBe("Live");
    expect(page.url()).toBe(`${url}/`);
    expect(await page.content()).not.toContain(token);
    await until(() => page.locator(".empty").textContent()).toContain("No tasks yet");

    lab.model.when("clean up", [calls([launching("read it all"), launching("clean the build")]), text("launched")]);
    await lab.ask(parent, "clean up");
    await until(() => standing(page, "about read it all")).toBe("running");
    await until(() => standing(page, "about clean the build")).toBe("waiting");
    await until(() => page.title()).toBe("(1) Taskchart");

    await page.getByRole("button", { name: "1 waits for you" }).click();
    await until(() => page.locator(".tree .task").count()).toBe(1);
    await page.locator(".tree .task").click();
    await until(() => page.locator(".requests pre").textContent()).toContain("echo clean");
    await page.getByRole("tab", { name: "Chart" }).click();
    await until(() => page.locator(".sheet-view .lit").getAttribute("data-state")).toBe("attention.awaitingUser");
    await until(() => page.locator(".legend .by").textContent()).toBe(
      "came here: the agent asks, from attention › none",
    );
    await page.getByRole("button", { name: "Whole chart" }).click();
    await until(() => page.locator(".picture .lit text").allTextContents()).toEqual(
      expect.arrayContaining(["busy", "permission"]),
    );
    await page.getByRole("button", { name: "Allow once" }).click();
    await until(() => page.locator(".standing .status").textContent()).toBe("Completed");
    await page.getByRole("button", { name: "All", exact: true }).click();
    await until(() => standing(page, "about clean the build")).toBe("completed");

    await page.getByRole("tab", { name: "Conversation" }).click();
    await until(() => page.locator(".conversation-view").textContent()).toContain("The build is clean.");
    expect(await page.locator(".tool summary").textContent()).toContain("bash");
    await page.getByRole("tab", { name: "Timeline" }).click();
    await until(() => page.locator(".timeline code").allTextContents()).toEqual(
      expect.arrayContaining(["REQUEST_ASKED", "REQUEST_ANSWERED", "CHECKED_ANSWERED"]),
    );

    await page.locator(".tree .task", { hasText: "about read it all" }).click();
    await page.getByRole("button", { name: "Cancel task" }).click();
    await page.getByRole("button", { name: "Cancel it" }).click();
    await until(() => page.locator(".standing .status").textContent()).toBe("Cancelled");
    await notified(lab, parent, [await childOf(lab, "clean the build"), await childOf(lab, "read it all")]);
    expect(faults).toEqual([]);
  });

  test("the API is described for people, by the built package", async () => {
    const { page, faults } = await openPage(`${serverFile(lab).url}/docs`);
    expect(await page.locator("h1").textContent()).toContain("status API");
    expect(await page.locator("#listTasks").textContent()).toContain("limit");
    expect(faults).toEqual([]);
  });
});
