import { fileURLToPath } from "node:url";
import type { StatelyInspectionEvent } from "@statelyai/inspect";
import { expect, onTestFinished, test } from "vitest";
import { bundleForBrowser } from "../../scripts/pages.ts";
import { settled } from "../fakes/virtual-clock.ts";
import { PATIENCE_MS } from "../patience.ts";
import { occupy } from "../services/http/ports.ts";
import { temporaryFolder } from "../services/http/served.ts";
import { describeInChromium, openPage } from "./chromium.ts";
import { liveStage } from "./live-stage.ts";

const STATELY = "https://stately.ai/inspect";

const statelyPage = () =>
  `<!doctype html><script type="module">${bundleForBrowser(fileURLToPath(new URL("stately-page.ts", import.meta.url)))}</script>`;

const open = async (answers: Record<string, string>) => {
  const live = await liveStage("stately");
  onTestFinished(live.stop);
  const opened = await openPage(`${live.url}/inspect/stately`, { answers });
  const received = async (): Promise<StatelyInspectionEvent[]> => {
    const frame = opened.page.frames().find((one) => one.url() === STATELY);
    return (await frame?.evaluate("received")) as StatelyInspectionEvent[];
  };
  const said = () => opened.page.locator("p").textContent();
  return { ...live, ...opened, received, said };
};

const until = <T>(read: () => Promise<T>) => expect.poll(read, { timeout: PATIENCE_MS });

describeInChromium("the page that embeds Stately's inspector", () => {
  test("Stately's page gets the current state when it opens, and all that follows, in the format of its own package", async () => {
    const { stage, received, said, faults } = await open({ [STATELY]: statelyPage() });
    await until(said).toContain("is connected");
    const id = await stage.launch();
    const types = async () => (await received()).map((event) => ("event" in event ? event.event.type : event.type));
    await until(types).toContain("PROMPT_ACCEPTED");
    const task = (await received()).find((event) => event.type === "@xstate.actor" && event.name === id);
    expect(task).toMatchObject({ type: "@xstate.actor", definition: expect.stringContaining("lifecycle") });
    const newest = (await received()).findLast(
      (event) => event.type === "@xstate.snapshot" && event.sessionId === task?.sessionId,
    );
    expect(newest).toMatchObject({
      snapshot: { status: "active", value: { lifecycle: "running", run: { active: { working: "busy" } } } },
    });
    expect(faults).toEqual([]);
  });

  test("it gets no text of a conversation, and nobody else is contacted", async () => {
    const { stage, url, received, said, requested } = await open({ [STATELY]: statelyPage() });
    await until(said).toContain("is connected");
    const id = await stage.launch({ description: "secret-description", prompt: "secret-prompt" });
    stage.host.finish(id, "secret-result");
    await settled();
    await until(async () => JSON.stringify(await received())).toContain("CHECKED_ANSWERED");
    expect(JSON.stringify(await received())).not.toContain("secret");
    expect(new Set(requested)).toEqual(new Set([`${url}/inspect/stately`, `${url}/inspect/stately/events`, STATELY]));
  });

  test("a lost connection is taken up by its own server alone", async () => {
    const port = await occupy(0);
    const folder = temporaryFolder();
    const first = await liveStage("stately", port, folder);
    const { page } = await openPage(`${first.url}/inspect/stately`, { answers: { [STATELY]: statelyPage() } });
    const said = () => page.locator("p").textContent();
    await until(said).toContain("is connected");
    await first.stop();
    await until(said).toContain("is lost");

    // Has another key, as a program of another user has.
    const pretender = await liveStage("stately", port);
    const asked: string[] = [];
    page.on("request", (request) => void asked.push(request.url()));
    await until(async () => asked.length).toBeGreaterThan(1);
    expect(asked.filter((one) => !one.startsWith(`${first.url}/v1/health?challenge=`))).toEqual([]);
    await pretender.stop();

    const second = await liveStage("stately", port, folder);
    onTestFinished(second.stop);
    await until(said).toContain("is connected");
  });

  test("without the internet it says what it waits for", async () => {
    const { said } = await open({});
    await until(said).toContain("Waiting for https://stately.ai");
  });

  test("a page that is not Stately's own gets nothing, whatever it sends", async () => {
    const { page, url, stage, said } = await open({ [STATELY]: "<!doctype html><p>not yet</p>" });
    await stage.launch();
    await page.evaluate(`window.postMessage({ type: "@statelyai.connected" }, "*")`);
    await page.evaluate("new Promise((resolve) => setTimeout(resolve))");
    expect(await said()).toContain("Waiting");
    for (const origin of ["https://stately.ai", "https://evil.example"]) {
      const answer = await fetch(`${url}/inspect/stately/events`, { headers: { origin } });
      expect({ origin, status: answer.status }).toEqual({ origin, status: 403 });
    }
  });
});
