/**
 * `node bench/start.ts [--rounds N]`
 *
 * What the built plugin (`npm run build`) adds to a start of OpenCode: `opencode serve` with it and without it, in turns
 * and in changing order, so that both meet the same machine. Each has a home of its own, which has been used once: a first
 * start creates databases. Exits with 1 when the goal is missed. 15 rounds, the default, take one to three minutes.
 *
 * Measured is from the moment at which the server listens, since OpenCode loads plugins with the first request that names
 * a directory. Up to there both do the same, for seconds on a busy machine, and differ by chance alone. Two moments are
 * what a person waits for:
 * - the first session is created: the directory is open, and an interface can be used. The goal is about this one.
 * - the first model request of the first prompt arrives: what `opencode run` is waited for.
 *
 * The computing time of the process, over all its threads, stands beside the time on the clock: on a busy machine it is the
 * steadier figure, though it grows there, too. It is read from `/proc`, so it is measured on Linux alone.
 */
import { readdirSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { newHome, removeHome } from "../test/e2e/lab/home.ts";
import { pluginsOf } from "../test/e2e/lab/lab.ts";
import { startOpenCode } from "../test/e2e/lab/opencode.ts";
import { type ScriptedModel, startModel } from "../test/e2e/lab/scripted-model.ts";
import { type Figure, report } from "./figures.ts";
import { percentile } from "./measuring.ts";

/** What a person does not notice among all that OpenCode does itself. */
const GOAL_MS = 60;

/** Milliseconds from the moment at which the server listens. */
interface Start {
  created: number;
  createdCpu: number;
  requested: number;
  requestedCpu: number;
}

/** Milliseconds of computing by all threads that a process has now; NaN where the system does not tell. */
const computed = (pid: number): number => {
  if (process.platform !== "linux") return Number.NaN;
  const threads = readdirSync(`/proc/${pid}/task`).map((thread) => {
    try {
      return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]);
    } catch {
      // It has ended since it was listed: those of a pool live on.
      return 0;
    }
  });
  return threads.reduce((sum, nanoseconds) => sum + nanoseconds, 0) / 1e6;
};

/** Starts OpenCode, creates a session, prompts it, and stops OpenCode. */
const measureStart = async (model: ScriptedModel, home: string, plugins: ReturnType<typeof pluginsOf>) => {
  const opencode = await startOpenCode({ modelURL: model.url, plugins, home });
  try {
    const [since, before] = [performance.now(), computed(opencode.pid)];
    const sinceThen = () => [performance.now() - since, computed(opencode.pid) - before] as const;
    // A title of its own, or OpenCode would ask the model for one.
    const { data } = await opencode.client.session.create({ title: "a start" }, { throwOnError: true });
    const [created, createdCpu] = sinceThen();
    const parts = [{ type: "text" as const, text: "Hello." }];
    await opencode.client.session.promptAsync({ sessionID: data.id, parts }, { throwOnError: true });
    await model.waitFor((request) => request.sessionID === data.id);
    const [requested, requestedCpu] = sinceThen();
    return { created, createdCpu, requested, requestedCpu };
  } finally {
    await opencode.stop();
  }
};

/** Starts both in turns; the first start of each is not measured. */
const measure = async (model: ScriptedModel, homes: readonly [string, string], rounds: number) => {
  const without = () => measureStart(model, homes[0], []);
  const withPlugin = () => measureStart(model, homes[1], pluginsOf());
  await without();
  await withPlugin();
  const pairs: { without: Start; with: Start }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    if (round % 2 === 0) pairs.push({ without: await without(), with: await withPlugin() });
    else {
      const first = await withPlugin();
      pairs.push({ without: await without(), with: first });
    }
  }
  return pairs;
};

const figuresOf = (pairs: Awaited<ReturnType<typeof measure>>): Figure[] => {
  const of = (key: keyof Start, what: string, goal?: number): Figure[] => {
    const figure = (name: string, value: number): Figure => ({ what: `${what}, ${name}`, value, unit: "ms" });
    const differences = pairs.map((pair) => pair.with[key] - pair.without[key]);
    const difference = figure("difference", percentile(differences, 0.5));
    const medianOf = (which: "with" | "without") =>
      percentile(
        pairs.map((pair) => pair[which][key]),
        0.5,
      );
    return [
      figure("without the plugin", medianOf("without")),
      figure("with the plugin", medianOf("with")),
      {
        ...difference,
        ...(goal !== undefined && { goal }),
        compared: { own: medianOf("with"), other: medianOf("without"), unit: "ms", with: "OpenCode alone" },
      },
      figure("difference, lower quartile", percentile(differences, 0.25)),
      figure("difference, upper quartile", percentile(differences, 0.75)),
    ];
  };
  return [
    ...of("created", "first session", GOAL_MS),
    ...of("createdCpu", "first session, computing"),
    ...of("requested", "first model request"),
    ...of("requestedCpu", "first model request, computing"),
  ];
};

const readRounds = (given: string): number => {
  const rounds = Number(given);
  if (Number.isInteger(rounds) && rounds > 0) return rounds;
  throw new Error(`--rounds is "${given}", but must be a whole number above 0`);
};

/** Rejects at Ctrl-C or SIGTERM, so that the homes are removed; OpenCode is killed when this process exits. */
const interrupted = new Promise<never>((_, reject) => {
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => reject(new Error(`ended by ${signal}`)));
});

const { values } = parseArgs({ options: { rounds: { type: "string", default: "15" } } });
const rounds = readRounds(values.rounds);
const model = await startModel();
const homes = [await newHome(), await newHome()] as const;
try {
  report(figuresOf(await Promise.race([measure(model, homes, rounds), interrupted])));
} finally {
  await Promise.all([model.stop(), ...homes.map(removeHome)]);
}
