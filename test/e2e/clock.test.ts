import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkJournals } from "../fakes/checked-journals.ts";
import { isNightly } from "../nightly.ts";
import { newHome, taskDatabase } from "./lab/home.ts";
import { type Lab, pluginsOf, startLab } from "./lab/lab.ts";
import { toolResults } from "./lab/model-request.ts";
import { calls, hang, text } from "./lab/reply.ts";
import { storedTasks } from "./stored.ts";
import { inChild, launchFrom, noticeRequest, noticesIn } from "./tasks-and-notices.ts";

/** Milliseconds by which a time server sets the clock back. */
const BACK = 8_000;

/** A plugin that puts another clock into OpenCode's process: it is off by as many milliseconds as a file says. */
const clockPlugin = (file: string) => `
import { readFileSync } from "node:fs";
const Real = Date;
let offset = 0;
const look = () => {
  offset = Number(readFileSync(${JSON.stringify(file)}, "utf8"));
};
look();
setInterval(look, 20).unref();
globalThis.Date = class extends Real {
  constructor(...given) {
    if (given.length === 0) super(Real.now() + offset);
    else super(...given);
  }
  static now() {
    return Real.now() + offset;
  }
};
export const Clock = async () => ({});
`;

let lab: Lab;
let folder: string;
let home: string;
let off = 0;

const setClock = (ms: number) => {
  off += ms;
  writeFileSync(join(folder, "offset"), String(off));
};

/** Sets OpenCode's clock, and waits until it shows the new time. */
const setAndRead = async (ms: number) => {
  setClock(ms);
  const isSet = async () => {
    const { data } = await lab.client.session.create({ title: "what is the time?" }, { throwOnError: true });
    return Math.abs(data.time.created - (Date.now() + off)) < Math.abs(ms) / 2;
  };
  await lab.until(isSet, { what: "the clock is set" });
};

/**
 * At night: until OpenCode reads a notice after its clock was set back, the notice is sent again after ever longer pauses, and
 * from 13 to 65 s passed here.
 */
describe.runIf(isNightly)("where OpenCode's clock is set back", () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "taskchart-clock-"));
    setClock(0);
    const plugin = join(folder, "clock.js");
    writeFileSync(plugin, clockPlugin(join(folder, "offset")));
    home = await newHome();
    lab = await startLab({ home, config: { plugin: [`file://${plugin}`, ...pluginsOf().map(String)] } });
  });

  afterAll(async () => {
    await lab.stop();
    checkJournals(taskDatabase(home), ["time-goes-on"]);
    for (const made of [folder, home]) rmSync(made, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  });

  test("a result is delivered once though the clock is set back while its task works: as soon as OpenCode can read it", async () => {
    const parent = await lab.session();
    const prompt = "a task at whose end the clock was set back";
    const waits = hang();
    lab.model.when(inChild(prompt), waits);
    const [id = ""] = await launchFrom(lab, parent, [prompt]);
    await setAndRead(-BACK);
    waits.release(text("It was slow."));
    await noticeRequest(lab, parent, id);
    await lab.until(() => storedTasks(lab).find((task) => task.id === id)?.owner === null, { what: "it rests" });
    expect(await noticesIn(lab, parent)).toHaveLength(1);
    const answers = lab.model.requests.filter(
      ({ sessionID, messages }) => sessionID === parent && JSON.stringify(messages.at(-1)).includes(`Task ${id} `),
    );
    expect(answers).toHaveLength(1);
  });

  test("a task whose turn OpenCode would go on with for ever, since the clock was set back in it, ends with its answer", async () => {
    const parent = await lab.session();
    const prompt = "a task that calls a tool while the clock is set back";
    let asked = 0;
    lab.model.when(inChild(prompt), (request) => {
      asked += 1;
      if (toolResults(request).length === 0)
        return calls([{ name: "bash", args: { command: "sleep 2", description: "wait" } }]);
      return text(`Answer ${asked}.`);
    });
    const [id = ""] = await launchFrom(lab, parent, [prompt]);
    await setAndRead(-BACK);
    const result = () => storedTasks(lab).find((task) => task.id === id && task.status === "completed")?.result;
    await lab.until(result, { what: "it ends" });
    expect(result()).toMatch(/^Answer \d\.$/);
    expect(asked).toBeLessThan(8);
    await noticeRequest(lab, parent, id);
    expect(await noticesIn(lab, parent)).toHaveLength(1);
  });
});
