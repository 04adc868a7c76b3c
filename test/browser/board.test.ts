import type { Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { receipt } from "../fakes/receipt.ts";
import { PATIENCE_MS } from "../patience.ts";
import { occupy } from "../services/http/ports.ts";
import { temporaryFolder } from "../services/http/served.ts";
import { boardStage } from "./board-stage.ts";
import { describeInChromium, openPage } from "./chromium.ts";

const until = <T>(read: () => Promise<T>) => expect.poll(read, { timeout: PATIENCE_MS });

const start = async (given: Parameters<typeof boardStage>[0] = {}) => {
  const stage = await boardStage({ port: await occupy(0), ...given });
  onTestFinished(stage.stop);
  return {
    ...stage,
    open: (path = "/", size: { width?: number; height?: number } = {}) => openPage(stage.url + path, size),
  };
};

/** Returns the rows of the list in the order in which they are shown, each as its words. */
const rows = (page: Page) =>
  page.locator(".tree [role=treeitem]").evaluateAll((items) =>
    items
      .map((item) => ({ item, at: Number(item.getAttribute("aria-posinset")) }))
      .sort((one, other) => one.at - other.at)
      .map(({ item }) => {
        const name = item.querySelector(".name")?.textContent ?? item.textContent ?? "";
        const mark = item.querySelector(".mark")?.getAttribute("class")?.replace("mark ", "") ?? "";
        return `${item.getAttribute("aria-level")} ${name.trim()}${mark === "" ? "" : ` (${mark})`}`;
      }),
  );

const tasksIn = async (page: Page) => (await rows(page)).filter((row) => !/^[12] /.test(row));

const row = (page: Page, text: string) => page.locator(".tree [role=treeitem]", { hasText: text });

describeInChromium("the board", () => {
  test("a task on another server names it, in the list and in its details; one that waits for a server is queued", async () => {
    const { source, open } = await start();
    const server = { id: "srv_1", label: "desk" };
    source.launch({ description: "away", agent: "explore", server });
    source.launch({ description: "offered", waiting: { for: "server", since: "2026-11-23T10:00:00.000Z" } });
    const { page, faults } = await open();
    await until(() => tasksIn(page)).toEqual(["3 away (running)", "3 offered (queued)"]);
    const doing = (name: string) => row(page, name).locator(".doing").textContent();
    expect(await doing("away")).toContain("explore on desk");
    expect(await doing("away")).toContain("Waits for its agent, which is at work on server desk");
    expect(await doing("offered")).toContain("Waits for a free server of the fleet; if none begins it, it runs here");
    await row(page, "away").click();
    await until(() => page.locator(".facts").textContent()).toMatch(/Serverdesk/);
    expect(faults).toEqual([]);
  });

  test("a task that ends while its details are open says there that files have changed since its gate passed", async () => {
    const { source, open } = await start();
    const { sessionID } = source.launch({ description: "gated" });
    const files = { fingerprint: "aa11", changedMeanwhile: false };
    const written = (more: { haveChanged?: true }) =>
      receipt({ gate: { command: "npm test", runs: 1, exit: 0, end: "exited", files: { ...files, ...more } } });
    source.comparedTask = async (id) => {
      const task = source.task(id);
      return task?.receipt ? { ...task, receipt: written({ haveChanged: true }) } : task;
    };
    const { page, faults } = await open();
    await row(page, "gated").click();
    await until(() => page.locator("aside, .details").first().textContent()).toContain("gated");
    const ended = { status: "completed", completedAt: new Date().toISOString(), result: "12" } as const;
    source.change(sessionID, { ...ended, receipt: written({}) });
    await until(() => page.locator("body").textContent()).toContain(
      'gate passed: "npm test" (files where it ran have changed since)',
    );
    expect(faults).toEqual([]);
  });

  test("where a fleet is used, its servers are listed with their slots, and what waits; their words stay text", async () => {
    const { source, open } = await start();
    const own = { id: "srv_home", label: "laptop" };
    const project = (name: string, atWork: number, slots: number) => ({
      ...{ project: name, atWork, slots, version: "0.1.0" },
    });
    source.view = {
      ...{ own, isReached: true, isCut: false },
      servers: [
        { id: "srv_1", label: "<img src=x>", isDrained: true, projects: [project("<b>shop</b>", 3, 16)] },
        { ...own, isDrained: false, projects: [project("shop", 0, 4)] },
      ],
    };
    source.launch({ waiting: { for: "server", since: "2026-11-23T10:00:00.000Z" } });
    const { page, faults } = await open();
    const fleet = page.getByRole("region", { name: "Fleet" });
    await until(() => fleet.locator("summary").textContent()).toBe(
      "Fleet: 2 servers, 3 of 20 slots taken, 1 task waits",
    );
    expect(await fleet.getByRole("listitem").allTextContents()).toEqual([
      "<img src=x><b>shop</b>drained3 / 16 slots taken",
      "laptopshop · this server0 / 4 slots taken",
    ]);
    source.view = { own, isReached: false, problem: "The connection to the fleet is lost.", servers: [], isCut: false };
    await until(() => fleet.textContent()).toBe("Fleet: 1 task waitsThe connection to the fleet is lost.");
    expect(faults).toEqual([]);
  });

  test("where no fleet is used, nothing is said of one", async () => {
    const { source, open } = await start();
    source.launch({ description: "here" });
    const { page, requested } = await open();
    await until(() => tasksIn(page)).toEqual(["3 here (running)"]);
    await until(async () => requested.filter((url) => url.endsWith("/v1/fleet"))).toHaveLength(1);
    expect(await page.getByRole("region", { name: "Fleet" }).count()).toBe(0);
  });

  test("tasks stand by conversation and batch, those that a task launched below it, each marked by its status", {
    tags: "gate",
  }, async () => {
    const { source, open } = await start();
    const parent = source.launch({ description: "first", batchId: "msg_1", startedAt: "2026-11-23T10:00:00.000Z" });
    source.launch({
      description: "below the first",
      parentTaskId: parent.sessionID,
      parentSessionID: parent.sessionID,
      startedAt: "2026-11-23T10:00:01.000Z",
    });
    source.end(
      source.launch({ description: "second", batchId: "msg_1", startedAt: "2026-11-23T10:00:02.000Z" }).sessionID,
      "error",
    );
    source.end(
      source.launch({ description: "later", batchId: "msg_2", startedAt: "2026-11-23T10:05:00.000Z" }).sessionID,
    );
    source.launch({
      description: "elsewhere",
      parentSessionID: "ses_another",
      directory: "/home/me/other",
      startedAt: "2026-11-23T09:00:00.000Z",
    });
    const { page, faults } = await open();
    await until(() => rows(page)).toEqual([
      expect.stringMatching(/^1 project build/),
      expect.stringMatching(/^2 Launched .*1 task/),
      "3 later (completed)",
      expect.stringMatching(/^2 Launched .*3 tasks/),
      "3 first (running)",
      "4 below the first (running)",
      "3 second (error)",
      expect.stringMatching(/^1 other build/),
      expect.stringMatching(/^2 Launched .*1 task/),
      "3 elsewhere (running)",
    ]);
    await row(page, "project").first().click();
    await until(() => tasksIn(page)).toEqual(["3 elsewhere (running)"]);
    expect(faults).toEqual([]);
  });

  test("what happens shows without a reload: a launch, a request, an end, a task that is cleared", {
    tags: "gate",
  }, async () => {
    const { source, open } = await start();
    const { page } = await open();
    await until(() => page.locator(".empty").textContent()).toContain("No tasks yet");
    const { sessionID } = source.launch({ description: "watch me" });
    await until(() => tasksIn(page)).toEqual(["3 watch me (running)"]);
    await until(() => page.locator(".summary").textContent()).toContain("1 active");
    const since = new Date().toISOString();
    const request = { id: "per_1", kind: "permission" as const, what: "run make", since, always: [] };
    source.change(sessionID, { attention: { ...request, requests: [request] } });
    await until(() => tasksIn(page)).toEqual(["3 watch me (waiting)"]);
    await until(() => page.title()).toBe("(1) Taskchart");
    source.change(sessionID, { attention: undefined });
    source.end(sessionID);
    await until(() => tasksIn(page)).toEqual(["3 watch me (completed)"]);
    await until(() => page.title()).toBe("Taskchart");
    source.clear(sessionID);
    await until(() => page.locator(".empty").textContent()).toContain("No tasks yet");
  });

  test("filters are in the address, and a link with them shows the same", async () => {
    const { source, url, open } = await start();
    source.launch({ description: "Count the lines", agent: "explore" });
    source.end(source.launch({ description: "Count the words", agent: "explore" }).sessionID);
    source.launch({ description: "Count the pages", agent: "docs", directory: "/home/me/other" });
    const { page, context } = await open();
    await until(async () => (await tasksIn(page)).length).toBe(3);
    await page.getByLabel("Search descriptions").fill("COUNT THE");
    await page.getByLabel("Agent").selectOption("explore");
    await page.getByRole("button", { name: "Active" }).click();
    await until(() => tasksIn(page)).toEqual(["3 Count the lines (running)"]);
    await until(async () => page.url()).toBe(`${url}/?status=active&agent=explore&search=COUNT+THE`);
    // What comes to match later appears, and what no longer does goes.
    source.launch({ description: "Count the chapters", agent: "explore" });
    await until(async () => (await tasksIn(page)).length).toBe(2);

    const other = await context.newPage();
    await other.goto(page.url());
    await until(async () => (await tasksIn(other)).toSorted()).toEqual([
      "3 Count the chapters (running)",
      "3 Count the lines (running)",
    ]);
    await other.goto(`${url}/?directory=%2Fhome%2Fme%2Fother`);
    await until(() => tasksIn(other)).toEqual(["3 Count the pages (running)"]);
    await other.goto(`${url}/?status=cancelled`);
    await until(() => other.locator(".empty").textContent()).toContain("No task matches");
  });

  test("a task shows what it waits for, its journal, its conversation and its chart, and links to the tasks around it", {
    tags: "gate",
  }, async () => {
    const { source, open } = await start();
    const parent = source.launch({ description: "the parent" });
    const { sessionID } = source.launch({
      description: "the child",
      parentTaskId: parent.sessionID,
      parentSessionID: parent.sessionID,
      prompt: "Do it well.",
    });
    source.messages.set(sessionID, [
      {
        info: { id: "msg_1", role: "user", time: { created: 1 } },
        parts: [{ id: "prt_1", type: "text", text: "Do it well." }],
      },
      {
        info: { id: "msg_2", role: "assistant", agent: "explore", modelID: "m1", time: { created: 2 } },
        parts: [
          { id: "prt_2", type: "step-start" },
          {
            id: "prt_3",
            type: "tool",
            tool: "grep",
            state: { status: "completed", title: "price", input: { pattern: "price" }, output: "3 hits" },
          },
          { id: "prt_4", type: "text", text: "I found three." },
        ],
      },
    ]);
    const { page, faults } = await open(`/?task=${sessionID}`);
    await until(() => page.locator("#details-title").textContent()).toBe("the child");
    expect(await page.locator(".why").textContent()).toMatch(/^Waits for its agent, which is at work for /);
    await until(() => page.locator("#view").textContent()).toContain("Do it well.");

    await page.getByRole("tab", { name: "Conversation" }).click();
    await until(() => page.locator(".conversation-view").textContent()).toContain("I found three.");
    expect(await page.locator(".conversation-view > li").count()).toBe(2);
    expect(await page.locator(".tool summary").textContent()).toContain("grep price");

    await page.getByRole("tab", { name: "Timeline" }).click();
    await until(() => page.locator(".timeline code").allTextContents()).toEqual(["SLOT_GRANTED", "PROMPT_ACCEPTED"]);

    await page.getByRole("tab", { name: "Chart" }).click();
    const lit = () =>
      page.locator(".sheet-view .lit").evaluateAll((all) => all.map((one) => one.getAttribute("data-state")));
    await until(lit).toEqual(["run.active.working.busy"]);
    expect(await page.locator(".view .sr").textContent()).toContain("busy. The agent is at work.");
    // A state around it, and another region, are a click away; then it follows the task again.
    await page.locator(".trail button", { hasText: "run" }).click();
    await until(lit).toEqual(["run.active"]);
    await page.locator(".states button", { hasText: "steering" }).click();
    await until(lit).toEqual(["steering.none"]);
    await page.getByRole("button", { name: "Back to where it is" }).click();
    await until(lit).toEqual(["run.active.working.busy"]);
    source.end(sessionID);
    await until(lit).toEqual(["lifecycle.completed"]);
    await page.getByRole("button", { name: "Whole chart" }).click();
    const inWhole = () =>
      page.locator(".picture .lit").evaluateAll((all) => all.map((one) => one.querySelector("text")?.textContent));
    await until(inWhole).toEqual(expect.arrayContaining(["completed", "idle"]));

    await page.getByRole("tab", { name: "Overview" }).click();
    await until(() => page.locator("#view").textContent()).toContain("There are 12.");
    await page.locator(".related button", { hasText: "the parent" }).click();
    await until(() => page.locator("#details-title").textContent()).toBe("the parent");
    await until(() => page.locator(".related").textContent()).toContain("the child");
    await page.goBack();
    await until(() => page.locator("#details-title").textContent()).toBe("the child");
    expect(faults).toEqual([]);
  });

  test("nothing of a task is taken for HTML, whatever it says", { tags: "gate" }, async () => {
    const hostile = `<img src=x onerror="window.hit=1"><script>window.hit=1</script></pre>{{nonce}}&lt;b&gt;`;
    const { source, open } = await start();
    const { sessionID } = source.launch({
      description: hostile,
      prompt: hostile,
      agent: hostile,
      directory: `/home/${hostile}`,
      parentAgent: hostile,
    });
    source.messages.set(sessionID, [
      {
        info: {
          id: hostile,
          role: "assistant",
          agent: hostile,
          modelID: hostile,
          error: { name: hostile, data: { message: hostile } },
        },
        parts: [
          { id: "1", type: "text", text: hostile },
          { id: "2", type: "reasoning", text: hostile },
          {
            id: "3",
            type: "tool",
            tool: hostile,
            state: { status: hostile, title: hostile, input: { [hostile]: hostile }, output: hostile },
          },
        ],
      },
    ]);
    source.change(sessionID, { status: "error", error: { name: hostile, kind: "provider", message: hostile } });
    const { page, faults } = await open(`/?task=${sessionID}&view=conversation&agent=${encodeURIComponent(hostile)}`);
    await until(() => page.locator(".conversation-view").textContent()).toContain(hostile);
    for (const tab of ["Overview", "Timeline", "Chart"]) {
      await page.getByRole("tab", { name: tab }).click();
      await until(() => page.getByRole("tab", { name: tab }).getAttribute("aria-selected")).toBe("true");
    }
    expect(await page.locator("#details-title").textContent()).toBe(hostile);
    expect(await page.locator("#board img, #board script, #board b b").count()).toBe(0);
    expect(await page.evaluate("window.hit")).toBeUndefined();
    expect(faults).toEqual([]);
  });

  test("it says when the connection is lost, and shows what was missed when it is back", { tags: "gate" }, async () => {
    const port = await occupy(0);
    const folder = temporaryFolder();
    const first = await boardStage({ port, folder });
    const { sessionID } = first.source.launch({ description: "goes on" });
    const { page } = await openPage(first.url);
    await until(() => page.locator(".connection").textContent()).toBe("Live");
    await until(() => tasksIn(page)).toEqual(["3 goes on (running)"]);
    await first.stop();
    await until(() => page.locator(".connection").textContent()).toContain("Connection lost");
    expect(await tasksIn(page)).toEqual(["3 goes on (running)"]);
    // Nobody knows for how long it has run: the time, which goes on every second otherwise, stands still.
    const elapsed = await page.locator(".elapsed").textContent();
    await page.evaluate("new Promise((resolve) => setTimeout(resolve, 2_500))");
    expect(await page.locator(".elapsed").textContent()).toBe(elapsed);
    first.source.end(sessionID, "cancelled");
    const second = await boardStage({ port, folder, source: first.source });
    onTestFinished(second.stop);
    await until(() => page.locator(".connection").textContent()).toBe("Live");
    await until(() => tasksIn(page)).toEqual(["3 goes on (cancelled)"]);
  });

  test.each([
    ["while it is lost", []],
    ["also where it was lost before the page has read of any server", ["/v1/servers"]],
  ])(
    "%s nothing can be done, and what takes the place of OpenCode is neither asked nor shown",
    async (_, unanswered) => {
      const port = await occupy(0);
      const folder = temporaryFolder();
      const first = await boardStage({ port, folder });
      const { sessionID } = first.source.launch({ description: "goes on" });
      const { page } = await openPage(`${first.url}/?task=${sessionID}#token=${first.token}`, { unanswered });
      const cancel = page.getByRole("button", { name: "Cancel task" });
      await until(() => cancel.isEnabled()).toBe(true);
      const known = () =>
        page.evaluate("performance.getEntriesByType('resource').some(({ name }) => name.endsWith('/v1/servers'))");
      await until(known).toBe(true);
      await first.stop();
      await until(() => page.locator(".connection").textContent()).toContain("Connection lost");
      await until(() => cancel.isEnabled()).toBe(false);
      await until(() => page.locator(".list .problem").textContent()).toContain("opencode-taskchart open");

      // Has another key, as a program of another user has.
      const pretender = await boardStage({ port });
      pretender.source.launch({ description: "a lie" });
      const asked: string[] = [];
      page.on("request", (request) => void asked.push(`${request.url()} ${request.headers().authorization ?? ""}`));
      await until(async () => asked.filter((one) => one.includes("/v1/health")).length).toBeGreaterThan(1);
      expect(asked.filter((one) => !one.startsWith(`${first.url}/v1/health?challenge=`))).toEqual([]);
      expect(asked.join()).not.toContain(first.token);
      expect(await tasksIn(page)).toEqual(["3 goes on (running)"]);
      await pretender.stop();

      const second = await boardStage({ port, folder, source: first.source });
      onTestFinished(second.stop);
      await until(() => page.locator(".connection").textContent()).toBe("Live");
    },
  );

  test("whoever has scrolled far keeps the place while the connection comes back", async () => {
    const port = await occupy(0);
    const folder = temporaryFolder();
    const first = await boardStage({ port, folder });
    const now = Date.now();
    for (let number = 0; number < 500; number += 1) {
      const startedAt = new Date(now - (500 - number) * 1_000).toISOString();
      first.source.end(first.source.launch({ description: `task number ${number}`, startedAt }).sessionID);
    }
    const { page } = await openPage(first.url);
    const footer = () => page.locator(".footer").textContent();
    await until(footer).toContain("200 of 500");
    await page.locator("#tasks").press("End");
    await until(footer).toBe("500 tasks");
    const top = () => page.evaluate("document.getElementById('tasks').scrollTop");
    await page.evaluate("document.getElementById('tasks').scrollTop = 15_000");
    await until(top).toBe(15_000);
    await first.stop();
    await until(() => page.locator(".connection").textContent()).toContain("Connection lost");
    const second = await boardStage({ port, folder, source: first.source });
    onTestFinished(second.stop);
    await until(() => page.locator(".connection").textContent()).toBe("Live");
    second.source.launch({ description: "the newest", parentSessionID: "ses_new" });
    await until(footer).toBe("501 tasks");
    // A conversation, its batch and its task came above.
    await until(top).toBe(15_000 + 46 + 28 + 56);
  });

  test("a task that is launched, changed or cleared while the list is read again is shown as it is", async () => {
    const port = await occupy(0);
    const folder = temporaryFolder();
    const first = await boardStage({ port, folder });
    const now = Date.now();
    const ids = Array.from({ length: 300 }, (_, number) => {
      const startedAt = new Date(now - (300 - number) * 1_000).toISOString();
      const description = `task number ${number}`;
      return first.source.launch({ description, startedAt, parentSessionID: `ses_parent_${number}` }).sessionID;
    });
    const { page } = await openPage(first.url);
    const footer = () => page.locator(".footer").textContent();
    await until(footer).toContain("200 of 300");
    await page.locator("#tasks").press("End");
    await until(footer).toBe("300 tasks");
    await page.locator("#tasks").press("Home");
    await first.stop();
    await until(() => page.locator(".connection").textContent()).toContain("Connection lost");
    // The first page arrives after what happens next, though the server answered before it.
    await page.evaluate(`(() => {
      const send = window.fetch;
      const mayArrive = new Promise((resolve) => { window.letArrive = resolve; });
      window.fetch = async (...asked) => {
        const response = await send(...asked);
        if (window.isAnswered || !String(asked[0]).includes("/v1/tasks?")) return response;
        window.isAnswered = true;
        await mayArrive;
        return response;
      };
    })()`);
    const { source, stop } = await boardStage({ port, folder, source: first.source });
    onTestFinished(stop);
    await until(() => page.evaluate("window.isAnswered")).toBe(true);
    source.launch({ description: "the newest", parentSessionID: "ses_new" });
    source.end(ids[299] ?? "", "cancelled");
    source.clear(ids[298] ?? "");
    const newest = async () => (await tasksIn(page)).slice(0, 3);
    const asItIs = ["3 the newest (running)", "3 task number 299 (cancelled)", "3 task number 297 (running)"];
    await until(newest).toEqual(asItIs);
    const isReadAgain = page.waitForResponse(/offset=299/);
    await page.evaluate("letArrive()");
    await isReadAgain;
    await until(newest).toEqual(asItIs);
    await until(footer).toBe("300 tasks");
  });

  test("where reading needs the token it says so and takes one, which is not in the address", async () => {
    const { source, token, url, open } = await start({ env: { OPENCODE_SERVER_PASSWORD: "secret" } });
    source.launch({ description: "behind the lock", agent: "explore" });
    const { page, context } = await open();
    await until(() => page.locator(".locked").textContent()).toContain("opencode-taskchart open");
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Use it" }).click();
    await until(() => tasksIn(page)).toEqual(["3 behind the lock (running)"]);
    const other = await context.newPage();
    await other.goto(`${url}/?agent=explore#token=${token}`);
    await until(() => tasksIn(other)).toEqual(["3 behind the lock (running)"]);
    expect(other.url()).toBe(`${url}/?agent=explore`);
  });

  test("nothing leaves this machine", { tags: "gate" }, async () => {
    const { source, url, open } = await start();
    source.launch({ description: "stay here" });
    const { page, requested } = await open("/?task=ses_0001&view=chart");
    await until(() => page.locator("#details-title").textContent()).toBe("stay here");
    expect(requested.filter((address) => !address.startsWith(`${url}/`))).toEqual([]);
  });

  test.each([
    [390, 844],
    [1400, 900],
  ])("at %i × %i nothing is wider than the window", async (width, height) => {
    const { source, open } = await start();
    for (let number = 0; number < 4; number += 1) {
      source.launch({ description: `a task whose description is rather long, so that it has to be cut ${number}` });
    }
    const { page } = await open("/", { width, height });
    await until(async () => (await tasksIn(page)).length).toBe(4);
    const widest = () => page.evaluate("document.documentElement.scrollWidth");
    expect(await widest()).toBe(width);
    for (const label of ["Search descriptions", "Agent", "Directory"]) {
      const box = await page.getByLabel(label).boundingBox();
      expect({ label, fits: box !== null && box.x >= 0 && box.x + box.width <= width }).toEqual({ label, fits: true });
    }
    for (const view of ["", "conversation", "timeline", "chart"]) {
      await page.goto(`${new URL(page.url()).origin}/?task=ses_0001&view=${view}`);
      await until(() => page.locator("#details-title").isVisible()).toBe(true);
      expect({ view, widest: await widest() }).toEqual({ view, widest: width });
    }
    if (width < 500) {
      await page.getByRole("button", { name: "All tasks" }).click();
      await until(() => page.locator(".tree").isVisible()).toBe(true);
      expect(await page.locator(".details").isVisible()).toBe(false);
    }
  });
});

describeInChromium("the description of the API", () => {
  test("has every route and shape, and needs no script", async () => {
    const { open } = await start();
    const { page, faults } = await open("/docs");
    expect(await page.locator("article h3 code").allTextContents()).toEqual(
      expect.arrayContaining(["/v1/tasks", "/v1/tasks/{id}/cancel", "/v1/events"]),
    );
    const limit = page.locator("#listTasks .field", { hasText: "limit" }).first();
    expect(await limit.textContent()).toContain("integer, default 50");
    expect(await page.locator("#schema-Task .field").count()).toBeGreaterThan(40);
    expect(await page.locator("script").count()).toBe(0);
    expect(faults).toEqual([]);
    const { page: narrow } = await openPage(page.url(), { width: 390 });
    expect(await narrow.evaluate("document.documentElement.scrollWidth")).toBe(390);
  });
});
