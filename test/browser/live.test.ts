import { expect, onTestFinished, test } from "vitest";
import { settled } from "../fakes/virtual-clock.ts";
import { PATIENCE_MS } from "../patience.ts";
import { occupy } from "../services/http/ports.ts";
import { temporaryFolder } from "../services/http/served.ts";
import { findings } from "./axe.ts";
import { describeInChromium, type Opened, openPage } from "./chromium.ts";
import { liveStage } from "./live-stage.ts";

const start = async (size: { width?: number; height?: number } = {}) => {
  const live = await liveStage(true);
  onTestFinished(live.stop);
  return { ...live, open: () => openPage(`${live.url}/inspect`, size) };
};

/** Returns the states that are marked on the sheet that is shown. */
const marked = ({ page }: Opened, mark: "lit" | "passed") =>
  page.locator(`.sheet-view .${mark}`).evaluateAll((boxes) => boxes.map((box) => box.getAttribute("data-state")));

const lit = (opened: Opened) => marked(opened, "lit");

/** Returns the highlighted states of the whole chart, by their names in the drawing. */
const litInWhole = ({ page }: Opened) =>
  page
    .locator(".picture .lit")
    .evaluateAll((states) => states.map((state) => state.querySelector("text")?.textContent));

/** Returns the states that the page lists for the selected actor. */
const states = ({ page }: Opened) =>
  page.locator(".states li").evaluateAll((pills) => pills.map((pill) => pill.getAttribute("data-state")));

/** Returns the events of the sequence, each as `sender → receiver: event`. */
const rows = ({ page }: Opened) =>
  page.locator(".events [data-step]").evaluateAll((all) => all.map((row) => row.getAttribute("title")));

const until = <T>(read: () => Promise<T>) => expect.poll(read, { timeout: PATIENCE_MS });

describeInChromium("the live page", () => {
  test("a launched task appears, and its states light up as it changes: working, completed, delivered", {
    tags: "gate",
  }, async () => {
    const { stage, open } = await start();
    const opened = await open();
    await until(() => opened.page.locator("#connection").textContent()).toBe(`Live: process ${process.pid}`);
    await until(() => opened.page.locator("#chart h2").textContent()).toBe("supervisor");

    const id = await stage.launch();
    await until(() => lit(opened)).toEqual(["run.active.working.busy"]);
    expect(await states(opened)).toEqual([
      "lifecycle.running",
      "run.active.working.busy",
      "notice.none",
      "attention.none",
      "steering.none",
      "nextRun.none",
    ]);
    expect(await opened.page.locator(".last-transition b").textContent()).toBe("PROMPT_ACCEPTED");
    expect(await opened.page.locator(".legend .by").textContent()).toBe(
      "came here: prompt accepted, from run › active › prompting › sending",
    );
    expect(await opened.page.locator("#actors button", { hasText: `task ${id}` }).textContent()).toContain(
      "running, busy",
    );

    const sending = stage.host.holdNext("prompt");
    stage.host.finish(id, "There are 12.");
    await settled();
    await until(() => states(opened)).toEqual([
      "lifecycle.completed",
      "run.idle",
      "notice.sending",
      "attention.none",
      "steering.none",
      "nextRun.none",
    ]);
    await until(() => lit(opened)).toEqual(["notice.sending"]);
    expect(await marked(opened, "passed")).toEqual(["notice.none", "notice.due"]);
    sending.release();
    await until(() => states(opened)).toEqual([
      "lifecycle.completed",
      "run.idle",
      "notice.none",
      "attention.none",
      "steering.none",
      "nextRun.none",
    ]);
    await until(() => lit(opened)).toEqual(["lifecycle.completed"]);
    await until(() => opened.page.locator("#actors button", { hasText: `task ${id}` }).textContent()).toContain(
      "at rest",
    );
    expect(opened.faults).toEqual([]);
  });

  test("events are listed in the order of sending, with their senders and receivers", async () => {
    const { stage, open } = await start();
    const opened = await open();
    const id = await stage.launch();
    await until(() => rows(opened)).toEqual([
      "outside → supervisor: xstate.init",
      "outside → supervisor: PREPARE",
      expect.stringMatching(/^supervisor → launch \S+: xstate\.init$/),
      expect.stringMatching(/^launch \S+ → supervisor: EFFECT takeTurn$/),
      "outside → supervisor: PREPARATION TURN_TAKEN",
      expect.stringMatching(/^supervisor → launch \S+: TURN_TAKEN$/),
      expect.stringMatching(/^launch \S+ → supervisor: EFFECT createSession$/),
      "outside → supervisor: PREPARATION SESSION_CREATED",
      expect.stringMatching(/^supervisor → launch \S+: SESSION_CREATED$/),
      expect.stringMatching(/^launch \S+ → supervisor: EFFECT startTask$/),
      "outside → supervisor: LAUNCH",
      "supervisor → outbox …parent: xstate.init",
      `supervisor → task ${id}: xstate.init`,
      `task ${id} → supervisor: EFFECT requestSlot`,
      "supervisor → outbox …parent: PARENT_PRESENT (ignored)",
      "outside → supervisor: PREPARATION TASK_STARTED",
      expect.stringMatching(/^supervisor → launch \S+: TASK_STARTED$/),
      expect.stringMatching(/^launch \S+ → supervisor: EFFECT answerCall$/),
      expect.stringMatching(/^launch \S+ → supervisor: xstate\.done\.actor\./),
      "outside → supervisor: TASK SLOT_GRANTED",
      `supervisor → task ${id}: SLOT_GRANTED`,
      `task ${id} → supervisor: EFFECT sendPrompt`,
      "outside → supervisor: TASK PROMPT_ACCEPTED",
      `supervisor → task ${id}: PROMPT_ACCEPTED`,
    ]);
    const shown = async (row: number) => {
      const box = await opened.page.locator(".events .arrow").nth(row).boundingBox();
      return { left: box?.x ?? 0, width: box?.width ?? 0 };
    };
    const [toTask, back] = [await shown(20), await shown(21)];
    expect(toTask).toEqual(back);
    expect(toTask.width).toBeGreaterThan(0);

    await opened.page.getByLabel("Of the selected actor only").check();
    await until(async () => (await rows(opened)).every((row) => row?.includes(`task ${id}`))).toBe(true);
  });

  test("a page that is opened late shows the current states and the events before", async () => {
    const { stage, open } = await start();
    const id = await stage.launch();
    stage.host.emit({
      type: "asked",
      sessionID: id,
      request: { id: "per_1", kind: "permission", what: "run it", since: 1 },
    });
    const opened = await open();
    await until(() => states(opened)).toEqual([
      "lifecycle.running",
      "run.active.working.busy",
      "notice.none",
      "attention.awaitingUser.permission",
      "steering.none",
      "nextRun.none",
    ]);
    expect(await lit(opened)).toEqual(["attention.awaitingUser"]);
    expect(await rows(opened)).toContain(`supervisor → task ${id}: SLOT_GRANTED`);
  });

  test("the whole chart of each actor is a click away, with every state that it is in, and the arrow by which it got there", async () => {
    const { stage, open } = await start();
    await stage.launch();
    const opened = await open();
    await opened.page.getByRole("button", { name: "Whole chart" }).click();
    for (const name of ["find it", "launch", "outbox", "supervisor"]) {
      await opened.page.locator("#actors button", { hasText: name }).first().click();
      await until(() => opened.page.locator("#chart h2").textContent()).toContain(name);
      expect((await litInWhole(opened)).length).toBe((await states(opened)).length);
    }
    await opened.page.locator("#actors button", { hasText: "find it" }).click();
    await until(() => opened.page.locator(".picture .taken text").allTextContents()).toEqual([
      expect.stringContaining("PROMPT_ACCEPTED"),
    ]);
    await opened.page.getByRole("button", { name: "Whole chart" }).click();
    await until(() => lit(opened)).toEqual(["run.active.working.busy"]);
  });

  test("each actor is shown on the sheet where it is, with the way that it came; sheets around it are a click away", {
    tags: "gate",
  }, async () => {
    const { stage, open } = await start();
    const opened = await open();
    const { page } = opened;
    const creating = stage.host.holdNext("createSession");
    const launched = stage.launch();
    await until(() => page.locator("#actors button").allTextContents()).toEqual(
      expect.arrayContaining([expect.stringContaining("requesting")]),
    );
    await page.locator("#actors button", { hasText: "requesting" }).click();
    await until(() => lit(opened)).toEqual(["preparing.creating.requesting"]);
    expect(await page.locator(".trail").textContent()).toBe("launch › preparing › creating");
    await page.locator(".trail button", { hasText: "preparing" }).click();
    await until(() => lit(opened)).toEqual(["preparing.creating"]);
    expect(await marked(opened, "passed")).toEqual(["preparing.waiting"]);
    expect(await page.locator("#chart .sr").textContent()).toContain("Passed on its way: waiting.");

    // It stays on the sheet that a person chose, until that is left.
    creating.release();
    await launched;
    await until(() => states(opened)).toEqual(["started"]);
    expect(await page.locator(".trail").textContent()).toBe("launch › preparing");
    await page.getByRole("button", { name: "Back to where it is" }).click();
    await until(() => lit(opened)).toEqual(["started"]);
    expect(await marked(opened, "passed")).toEqual(["preparing", "starting"]);
    expect(await page.locator(".sheet-view .taken").textContent()).toContain("task started");

    for (const [name, state] of [
      ["outbox", "delivery.idle"],
      ["supervisor", "open"],
    ] as const) {
      await page.locator("#actors button", { hasText: name }).click();
      await until(() => lit(opened)).toEqual([state]);
    }
    expect(opened.faults).toEqual([]);
  });

  test("no turn of the wheel leads to where nothing is: neither on a sheet nor on the whole chart", async () => {
    const { stage, open } = await start({ width: 1280, height: 800 });
    await stage.launch();
    const opened = await open();
    const { page } = opened;
    await until(() => lit(opened)).toEqual(["run.active.working.busy"]);
    expect(
      await page.evaluate(`(() => {
        const { scrollWidth, scrollHeight, clientWidth, clientHeight, firstElementChild: sheet } = document.querySelector(".sheet-view");
        const { width, height } = sheet.getBoundingClientRect();
        return [scrollWidth - Math.max(width, clientWidth), scrollHeight - Math.max(height, clientHeight)];
      })()`),
    ).toEqual([0, 0]);

    await page.getByRole("button", { name: "Whole chart" }).click();
    await until(() => litInWhole(opened)).toContain("busy");
    /** Where the window stands, and how many texts are seen there; with `empty`, also how far it is to a place without any. */
    const look = (): Promise<{ at: string; seen: number; empty: [number, number] }> =>
      page.evaluate(`(() => {
        const view = document.querySelector(".picture");
        const { scrollLeft, scrollTop, scrollWidth, scrollHeight, clientWidth, clientHeight } = view;
        const { left, top } = view.getBoundingClientRect();
        const texts = [...view.querySelectorAll("text")].map((text) => text.getBoundingClientRect());
        const seenAfter = (x, y) => texts.filter((text) => text.right - x > left && text.left - x < left + clientWidth && text.bottom - y > top && text.top - y < top + clientHeight).length;
        const steps = (from, to) => Array.from({ length: Math.floor((to - from) / 100) }, (_, step) => from + 100 * step);
        const moves = steps(-scrollLeft, scrollWidth - clientWidth - scrollLeft).flatMap((x) => steps(-scrollTop, scrollHeight - clientHeight - scrollTop).map((y) => [x, y]));
        return { at: scrollLeft + " " + scrollTop, seen: seenAfter(0, 0), empty: moves.find(([x, y]) => seenAfter(x, y) === 0) };
      })()`);
    const before = await look();
    await page.locator(".picture").hover();
    await page.mouse.wheel(...before.empty);
    await until(async () => (await look()).at).not.toBe(before.at);
    await until(async () => (await look()).seen).toBeGreaterThan(0);
  });

  test.each(["light", "dark"] as const)("axe-core finds nothing in it: %s", async (colorScheme) => {
    const { stage, open } = await start();
    await stage.complete("There are 12.");
    await stage.launch();
    const opened = await open();
    await opened.page.emulateMedia({ colorScheme });
    await until(() => lit(opened)).toEqual(["run.active.working.busy"]);
    expect(await findings(opened.page)).toEqual([]);
    await opened.page.getByRole("button", { name: "Whole chart" }).click();
    await until(() => litInWhole(opened)).toContain("busy");
    expect(await findings(opened.page)).toEqual([]);
  });

  test("a past step is shown when a person selects it, by keyboard too, and left with Escape", async () => {
    const { stage, open } = await start();
    const id = await stage.launch();
    const opened = await open();
    const { page } = opened;
    await until(() => states(opened)).toContain("run.active.working.busy");
    await page.locator(".events [data-step]", { hasText: /^(?!.*TASK).*SLOT_GRANTED/ }).click();
    await until(() => states(opened)).toContain("run.active.prompting.sending");
    expect(await page.locator(".past").textContent()).toContain("As it was at");
    expect(await lit(opened)).toEqual(["run.active.prompting.sending"]);

    // Up to the beginning of the task, past the end of its launch, its request of a slot and what the others did meanwhile.
    for (let step = 0; step < 8; step += 1) await page.locator(".events").press("ArrowUp");
    await until(() => states(opened)).toContain("run.queued");
    stage.host.emit({ type: "idle", sessionID: id });
    await until(async () => (await rows(opened)).some((row) => row?.endsWith("HOST_IDLE"))).toBe(true);
    expect(await states(opened)).toContain("run.queued");
    await page.keyboard.press("Escape");
    await until(() => states(opened)).not.toContain("run.queued");
    expect(await page.locator(".past").isVisible()).toBe(false);
  });

  test.each([
    [
      "it says when the connection is lost, and reconnects by itself to its own server alone",
      [],
      `Live: process ${process.pid}`,
    ],
    ["it does so before it has read of any server, too", ["/v1/servers"], "Live"],
  ])("%s", async (_, unanswered, live) => {
    const port = await occupy(0);
    const folder = temporaryFolder();
    const first = await liveStage(true, port, folder);
    await first.stage.launch();
    const opened = await openPage(`${first.url}/inspect`, { unanswered });
    const said = () => opened.page.locator("#connection").textContent();
    await until(() => states(opened)).toContain("run.active.working.busy");
    await until(said).toBe(live);
    await first.stop();
    await until(said).toContain("The connection is lost");
    expect(await states(opened)).toContain("run.active.working.busy");

    // Has another key, as a program of another user has.
    const pretender = await liveStage(true, port);
    const asked: string[] = [];
    opened.page.on("request", (request) => void asked.push(request.url()));
    await until(async () => asked.length).toBeGreaterThan(1);
    expect(asked.filter((one) => !one.startsWith(`${first.url}/v1/health?challenge=`))).toEqual([]);
    await pretender.stop();

    const second = await liveStage(true, port, folder);
    onTestFinished(second.stop);
    expect(second.url).toBe(first.url);
    await until(said).toBe(live);
    await until(() => states(opened)).toEqual(["open"]);
  });

  test("tasks are named by their descriptions, and a link leads to one", async () => {
    const { stage, url, open } = await start();
    const id = await stage.launch({ description: "Count the lines" });
    await stage.launch({ description: "Count the words" });
    const opened = await open();
    const { page } = opened;
    await until(() => page.locator("#actors .name").allTextContents()).toEqual(
      expect.arrayContaining(["Count the words", "Count the lines", "supervisor"]),
    );
    await until(() => page.locator("#chart h2").textContent()).toBe("Count the words");
    const other = await opened.context.newPage();
    await other.goto(`${url}/inspect#${id}`);
    await until(() => other.locator("#chart h2").textContent()).toBe("Count the lines");
    await stage.launch({ description: "Count the pages" });
    await until(() => page.locator("#actors .name").allTextContents()).toContain("Count the pages");
    expect(opened.faults).toEqual([]);
  });

  test("nothing leaves this machine, and of a conversation only the description of its task is in the page", {
    tags: "gate",
  }, async () => {
    const { stage, open } = await start();
    const opened = await open();
    const id = await stage.launch({ description: "shown-description", prompt: "secret-prompt" });
    stage.host.finish(id, "secret-result");
    await stage.clock.advance(1_000);
    await until(() => states(opened)).toContain("lifecycle.completed");
    expect(await opened.page.content()).not.toContain("secret");
    expect(opened.requested.filter((url) => !url.startsWith("http://127.0.0.1:"))).toEqual([]);
    expect(opened.faults).toEqual([]);
  });

  test.each([
    [1280, 820],
    [800, 1000],
    [420, 900],
  ])("at %i × %i nothing is wider than the window", async (width, height) => {
    const { stage, open } = await start({ width, height });
    for (let count = 0; count < 6; count += 1) await stage.launch();
    const opened = await open();
    await until(() => states(opened)).toContain("run.active.working.busy");
    expect(await opened.page.evaluate("document.documentElement.scrollWidth")).toBe(width);
    expect(await opened.page.locator(".sheet-view .lit").isVisible()).toBe(true);
  });
});
