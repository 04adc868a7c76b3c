import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { isNightly } from "../nightly.ts";
import { PATIENCE_MS } from "../patience.ts";
import { newHome, removeHome } from "./lab/home.ts";
import { type Lab, pluginsOf, startLab } from "./lab/lab.ts";
import { lastUserText, type ModelRequest, toolResults } from "./lab/model-request.ts";
import { calls, hang, text } from "./lab/reply.ts";
import { type ScriptedModel, startModel } from "./lab/scripted-model.ts";
import { noTerminal, openTerminal, type Terminal } from "./lab/terminal.ts";
import { storedTasks } from "./stored.ts";
import { launching, noticesIn } from "./tasks-and-notices.ts";

/** How often the interface is quit while the task runs: with all moments more often than a task without progress goes on. */
const QUITS = isNightly ? 5 : 1;

const PROMPT = "a task of many steps";

const isOfTask = ({ parentSessionID }: ModelRequest): boolean => parentSessionID !== undefined;

const shell = (command: string) => calls([{ name: "bash", args: { command, description: "works" } }]);

const stepName = (step: number) => `step ${step}`;

const stepsDone = (request: ModelRequest): number =>
  toolResults(request).filter(({ output }) => output.includes("step ")).length;

/** The task takes one step each time that it is let, and then waits for its model. */
const scriptTask = (model: ScriptedModel) => {
  let allowed = 0;
  model.when(isOfTask, (request) => {
    const done = stepsDone(request);
    if (done > QUITS) return text("All steps are done.");
    return done < allowed ? shell(`echo ${stepName(done)} | tee -a steps.txt`) : hang();
  });
  return {
    /** Lets the task take its next step; resolves when it is done and the model is asked for the one after that. */
    step: () => {
      allowed += 1;
      const next = allowed;
      return model.waitFor((request) => isOfTask(request) && stepsDone(request) === next, { timeoutMs: 240_000 });
    },
    letGo: () => {
      allowed = Number.POSITIVE_INFINITY;
    },
  };
};

/** An agent whose shell does not heed being told to end: OpenCode takes its time to quit then. */
const scriptPerson = (model: ScriptedModel) => {
  model.when(
    (request) => !isOfTask(request),
    (request) => {
      const asked = lastUserText(request);
      const results = toolResults(request).length;
      if (asked.includes("begin") && results === 0) return calls([launching(PROMPT)]);
      const named = /stay (\d)/.exec(asked)?.[1];
      return named === undefined ? text("noted") : shell(`trap "" TERM; touch stays-${named}; sleep 10`);
    },
  );
};

test.skipIf(noTerminal !== undefined)(
  `a task goes on through ${QUITS === 1 ? "a quit" : `${QUITS} quits`} of the terminal interface, and ends as if there had been none`,
  // More than all waits inside together: one of those fails first, says what it waited for, and nothing is left running.
  { timeout: 1_800_000 },
  async () => {
    const model = await startModel();
    const home = await newHome();
    const options = { modelURL: model.url, home, plugins: pluginsOf() };
    const data = join(home, "data", "opencode-taskchart");
    const project = join(home, "project");
    let open: Terminal | undefined;
    let lab: Lab | undefined;
    onTestFinished(async () => {
      await open?.kill();
      await lab?.stop();
      await model.stop();
      await removeHome(home);
    });
    const task = scriptTask(model);
    scriptPerson(model);

    for (let quit = 0; quit < QUITS; quit += 1) {
      const use = async () => {
        const terminal = await openTerminal(options);
        open = terminal;
        await terminal.submit(quit === 0 ? `begin, and stay ${quit}` : `stay ${quit}`);
        return terminal;
      };
      // The task may take its step before the interface is ready: it goes on as soon as OpenCode is back.
      const [terminal] = await Promise.all([use(), task.step()]);
      await expect.poll(() => existsSync(join(project, `stays-${quit}`)), { timeout: PATIENCE_MS }).toBe(true);
      const asked = model.requests.length;
      await terminal.quit();
      open = undefined;
      // An interface that is quit opens its directory once more: nothing is begun there, and nothing is left behind.
      expect(model.requests.slice(asked).map(lastUserText)).toEqual([]);
      expect(existsSync(join(data, "server.json"))).toBe(false);
      expect(readdirSync(join(data, "instances"))).toEqual([]);
      expect(storedTasks({ options })).toEqual([expect.objectContaining({ status: "running" })]);
    }

    task.letGo();
    const reopened = await startLab({ home, model });
    lab = reopened;
    const ended = { status: "completed", owner: null, result: "All steps are done." };
    await expect
      .poll(() => storedTasks({ options }), { timeout: PATIENCE_MS })
      .toEqual([expect.objectContaining(ended)]);
    const parent = model.requests.find(isOfTask)?.parentSessionID ?? "";
    expect(await noticesIn(reopened, parent)).toHaveLength(1);
    const steps = readFileSync(join(project, "steps.txt"), "utf8").trim().split("\n");
    expect(steps).toEqual(Array.from({ length: QUITS + 1 }, (_, step) => stepName(step)));
  },
);

if (noTerminal !== undefined) test.skip(`not tried: ${noTerminal}`, () => undefined);
