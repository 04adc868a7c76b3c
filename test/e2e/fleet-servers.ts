import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "@opencode-ai/sdk/v2/client";
import { expect } from "vitest";
import { RUNS, readEntries } from "../../src/services/fleet/nats/streams.ts";
import { type RunLog, readLog } from "../../src/services/fleet/run-log.ts";
import { commandHere } from "../cli/command-line.ts";
import { type NatsServer, startNats } from "../fakes/nats-server.ts";
import { newRepository, type Repository, repositoryAt } from "../fakes/repository.ts";
import { newHome, removeHome } from "./lab/home.ts";
import { type Lab, pluginsOf, startLab } from "./lab/lab.ts";
import { calls, type ScriptedCall, text } from "./lab/reply.ts";
import { type ScriptedModel, startModel } from "./lab/scripted-model.ts";
import { dataFolder, served, statusApi } from "./status-api.ts";
import { storedTasks } from "./stored.ts";
import { launching, noticesIn } from "./tasks-and-notices.ts";

/** What a server of the fleet is started with. */
interface ServerOptions {
  /** Of the option `fleet`. */
  fleet: Record<string, unknown>;
  /** The plugin's other options. */
  options?: Record<string, unknown>;
  config?: Config;
}

/** A server of the fleet: an OpenCode with a home of its own, and with a clone of the project. */
export interface Server extends Lab {
  project: Repository;
}

/** Real OpenCode servers that share a broker, a scripted model, and a project that each has cloned. */
export interface Fleet {
  broker: NatsServer;
  model: ScriptedModel;
  add(name: string, options: ServerOptions): Promise<Server>;
  /** Adds a server that works for others. */
  addWorker(name: string, options?: Partial<ServerOptions>): Promise<Server>;
  /** What the broker has of the newest run of a task that was launched on this server. */
  logOf(origin: Server, taskId: string): Promise<RunLog>;
  stop(): Promise<void>;
}

/** Starts a fleet without servers. The lease in milliseconds: a server that is slow for that long is taken for dead. */
export const startFleet = async (lease: number): Promise<Fleet> => {
  const home = await newHome();
  const origin = newRepository({ "a.txt": "one\n" }, join(home, "origin"));
  const broker = await startNats({ lease });
  const model = await startModel();
  const servers: Server[] = [];
  const homes = [home];
  const [plugin] = pluginsOf();

  const add: Fleet["add"] = async (name, { fleet, options = {}, config = {} }) => {
    const folder = await newHome();
    homes.push(folder);
    const top = join(folder, "project");
    mkdirSync(top);
    const project = repositoryAt(top);
    project.git("clone", "--quiet", origin.top, ".");
    const own = { ...options, fleet: { url: broker.url, name, ...fleet } };
    const lab = await startLab({ home: folder, model, config, plugin: [String(plugin), own] });
    // What a restart replaces is read from the lab itself.
    const added = Object.assign(Object.create(lab) as Lab, { project });
    servers.push(added);
    return added;
  };

  return {
    broker,
    model,
    add,
    addWorker: (name, options = {}) => add(name, { ...options, fleet: { work: 4, ...options.fleet } }),
    logOf: (server, task) => {
      const id = readFileSync(join(dataFolder(server), "fleet-server"), "utf8").trim();
      return broker.manage(async (jsm) => {
        const { created } = await jsm.streams.info(RUNS);
        return readLog(await readEntries(jsm, Date.parse(created), { origin: id, task, run: 0 }));
      });
    },
    stop: async () => {
      for (const server of servers) await server.stop();
      await model.stop();
      await broker.stop();
      for (const folder of homes) await removeHome(folder);
    },
  };
};

/** What came of launches. */
interface Launched {
  parent: string;
  /** The tasks' ids. */
  tasks: string[];
  /** What the launches answered. */
  answers: string[];
}

/** Makes an agent launch tasks by these calls, all in one message, and waits until its turn is over. */
export const launchBy = async (lab: Lab, launches: ScriptedCall[]): Promise<Launched> => {
  const parent = await lab.session();
  const word = `launch ${launches.map(({ args }) => args?.prompt).join(", ")}`;
  lab.model.when(
    (request) => request.sessionID === parent && JSON.stringify(request.messages.at(-1)).includes(word),
    calls(launches),
  );
  await lab.ask(parent, word);
  const answers = (await lab.texts(parent)).filter((line) => line.startsWith("tool asyncagents_task: "));
  expect(answers).toHaveLength(launches.length);
  const tasks = answers.map((answer) => /Task (ses_\w+) /.exec(answer)?.[1] ?? "");
  return { parent, tasks, answers };
};

/** Makes an agent launch a task with this prompt. */
export const launch = async (lab: Lab, prompt: string, more: Record<string, unknown> = {}) => {
  const { parent, tasks, answers } = await launchBy(lab, [launching(prompt, more)]);
  return { parent, task: tasks[0] ?? "", answer: answers[0] ?? "" };
};

/** A task as the status API of the server has it that launched it. */
export const taskOf = async (lab: Lab, id: string) => {
  await served(lab);
  return (await statusApi(lab).get(`/v1/tasks/${id}`)).body;
};

/** Waits until a server has nothing left to do for anybody, and nobody works in its sessions. */
export const atRest = (lab: Lab, what = "nothing is owed, and nobody works") =>
  lab.until(
    async () => {
      const { data } = await lab.client.session.status();
      return (
        storedTasks(lab).every(({ owner }) => owner === null) && data !== undefined && Object.keys(data).length === 0
      );
    },
    { what },
  );

/** Waits until a parent is told of the end of its one task, and all is done that follows from it. Returns the notice. */
export const toldOnce = async (lab: Lab, parent: string) => {
  await lab.until(async () => (await noticesIn(lab, parent)).length > 0, { what: "the end is told" });
  await atRest(lab);
  const notices = await noticesIn(lab, parent);
  expect(notices).toHaveLength(1);
  return notices[0];
};

/** Every journal of a server leads to the snapshot that is stored with it. */
export const expectJournals = async (lab: Lab) => {
  for (const { id } of storedTasks(lab)) {
    expect(await commandHere(["replay", id, "--data", dataFolder(lab)])).toMatchObject({ code: 0, error: "" });
  }
};

/** A call of OpenCode's own tool that runs a command. */
export const bash = (command: string): ScriptedCall => ({ name: "bash", args: { command, description: "works" } });

/** An agent that runs a command, and says that. */
export const running = (command: string, said: string) => [calls([bash(command)]), text(said)];
