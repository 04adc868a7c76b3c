import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { newHome, removeHome } from "../../test/e2e/lab/home.ts";
import { type Lab, pluginsOf, startLab } from "../../test/e2e/lab/lab.ts";
import { type ScriptedModel, startModel } from "../../test/e2e/lab/scripted-model.ts";
import { type NatsServer, startNats } from "../../test/fakes/nats-process.ts";
import { makeProject } from "../demo/scenario.ts";

/** Milliseconds after which a server that is not heard of is taken for dead. Short, so that the demo is. */
export const LEASE = 6_000;

/** A server of the demo: an OpenCode with a home of its own and a clone of the project. */
export interface Server {
  name: string;
  lab: Lab;
}

/** What the demo runs on. */
export interface Stage {
  broker: NatsServer;
  model: ScriptedModel;
  /** Starts a server; `fleet` is its option, without the address. */
  start(name: string, fleet: object): Promise<Server>;
  /** Ends everything, and removes all folders. */
  clear(): Promise<void>;
}

const git = (folder: string, ...args: string[]) =>
  execFileSync("git", ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", ...args], { cwd: folder });

/** Makes a repository with a project in it, from which servers clone. Returns its folder. */
const makeOrigin = async (home: string): Promise<string> => {
  await makeProject(home);
  const top = join(home, "project");
  git(top, "init", "--quiet", "--initial-branch=main");
  git(top, "add", "--all");
  git(top, "commit", "--quiet", "--message=Open a tea shop");
  return top;
};

/** Starts a broker and a model, and makes a project. */
export const setStage = async (): Promise<Stage> => {
  const homes: string[] = [];
  const ends: (() => Promise<void>)[] = [];
  const clear = async () => {
    for (const end of ends.splice(0).reverse()) await end();
    for (const home of homes.splice(0)) await removeHome(home);
  };
  const addHome = async () => {
    const home = await newHome();
    homes.push(home);
    return home;
  };
  try {
    const origin = await makeOrigin(await addHome());
    const broker = await startNats({ lease: LEASE });
    ends.push(broker.stop);
    const model = await startModel();
    ends.push(model.stop);
    const [plugin] = pluginsOf();
    const start = async (name: string, fleet: object): Promise<Server> => {
      const home = await addHome();
      git(home, "clone", "--quiet", origin, "project");
      const lab = await startLab({
        home,
        model,
        plugin: [String(plugin), { fleet: { url: broker.url, name, ...fleet } }],
      });
      ends.push(lab.stop);
      // A server takes jobs for a project from the time on when it is open there.
      await lab.client.config.get({}, { throwOnError: true });
      return { name, lab };
    };
    return { broker, model, start, clear };
  } catch (error) {
    await clear();
    throw error;
  }
};
