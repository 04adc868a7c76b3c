/**
 * `node bench/notices.ts [--rounds N] [--json]`
 *
 * How soon, how reliably and how cheaply a parent session learns that its background tasks have ended: the built plugin
 * (`npm run build`) against OpenCode's own `task` tool with `background: true`, side by side in two real servers, in turns,
 * so that both meet the same machine. Exits with 1 when a goal is missed. Five rounds, the default, take about a minute
 * and a half.
 */
import { parseArgs } from "node:util";
import { type Contender, toolBytes, withContenders } from "./notices/contender.ts";
import { figuresOf } from "./notices/figures.ts";
import { bytesGoal, goalsOf } from "./notices/goals.ts";
import { type Round, runRound } from "./notices/round.ts";
import { figuresTable, goalsTable } from "./notices/table.ts";

/** How many tasks end together: a handful, as agents launch them, and as many as a swarm. */
const sizes = [4, 20];

/** Runs everything, and resolves to the rounds and to what our tools add to a model request. */
async function measure(contenders: Contender[], rounds: number) {
  // Unmeasured: the first round of a server pays for its caches and its just-in-time compiler.
  for (const contender of contenders) await runRound(contender, Math.max(...sizes), `warm-up of ${contender.name}`);
  const measured: Round[] = [];
  for (let index = 1; index <= rounds; index++) {
    for (const tasks of sizes) {
      // The order changes with each round, so that going second is nobody's lot.
      const inTurn = index % 2 === 1 ? contenders : contenders.toReversed();
      for (const contender of inTurn) measured.push(await runRound(contender, tasks, `round ${index} of ${tasks}`));
    }
  }
  const request = contenders.find(({ name }) => name === "ours")?.lab.model.requests[0];
  if (!request) throw new Error("our server made no model request");
  return { measured, definitions: toolBytes(request) };
}

function readRounds(given: string): number {
  const rounds = Number(given);
  if (Number.isInteger(rounds) && rounds > 0) return rounds;
  throw new Error(`--rounds is "${given}", but must be a whole number above 0`);
}

/** Rejects at Ctrl-C or SIGTERM, so that the servers are stopped and their homes removed before this process ends. */
const interrupted = new Promise<never>((_, reject) => {
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => reject(new Error(`ended by ${signal}`)));
});

const { values } = parseArgs({
  options: { rounds: { type: "string", default: "5" }, json: { type: "boolean", default: false } },
});
const rounds = readRounds(values.rounds);
const { measured, definitions } = await withContenders((contenders) =>
  Promise.race([measure(contenders, rounds), interrupted]),
);
const pairs = sizes.map((tasks) => ({
  ours: figuresOf(measured, "ours", tasks),
  builtIn: figuresOf(measured, "built-in", tasks),
}));
const figures = pairs.flatMap(({ ours, builtIn }) => [ours, builtIn]);
const goals = [...pairs.flatMap(({ ours, builtIn }) => goalsOf(ours, builtIn)), bytesGoal(definitions.bytes)];

if (values.json) {
  process.stdout.write(`${JSON.stringify({ figures, definitions, goals }, undefined, 2)}\n`);
} else {
  process.stdout.write(`${figuresTable(figures)}\n\n${goalsTable(goals)}\n`);
}
if (goals.some(({ met }) => !met)) process.exitCode = 1;
