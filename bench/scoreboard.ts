/**
 * `npm run scoreboard -- [--moments N] [--seed N] [--write]`
 *
 * What becomes of background tasks when OpenCode is killed: the built plugin against OpenCode's own `task` tool with
 * `background: true`, in two real servers with a scripted model. At each moment three tasks are launched, OpenCode is killed
 * and started again, and the notices of their ends are counted: delivered once, twice, lost, and how long after the new
 * start each was first seen. Exits with 1 when one of ours is not delivered once and by itself.
 *
 * `--moments`: how many, 10 by default; they are spread evenly over the life of a task, and both meet the same ones.
 * `--seed`: decides where in its slice of that life each lies, 1 by default. `--write`: puts the result into
 * `docs/performance.md`. Ten moments take about six minutes, most of it waiting for what does not come.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { placed } from "../scripts/marked-place.ts";
import { measuredOn } from "./machine.ts";
import { type Contender, type ContenderName, withContenders } from "./notices/contender.ts";
import { orderOf } from "./notices/order.ts";
import { chooseMoments, type Moment } from "./scoreboard/moments.ts";
import { playMoment } from "./scoreboard/play.ts";
import { isTargetMet, type Played, scoreOf } from "./scoreboard/score.ts";
import { type Result, scoreboard } from "./scoreboard/tables.ts";

const readCount = (option: string, given: string): number => {
  const count = Number(given);
  if (Number.isInteger(count) && count > 0) return count;
  throw new Error(`--${option} is "${given}", but must be a whole number above 0`);
};

/** Plays all moments with each contender in turns, and then counts. */
const play = async (contenders: Contender[], moments: Moment[]): Promise<Result[]> => {
  const counts = new Map<ContenderName, (() => Promise<Played>)[]>();
  for (const moment of moments) {
    for (const contender of orderOf(contenders, moment.number)) {
      const count = await playMoment(contender, moment);
      counts.set(contender.name, [...(counts.get(contender.name) ?? []), count]);
    }
    process.stderr.write(`moment ${moment.number} of ${moments.length}: ${moment.part}, after ${moment.delay} ms\n`);
  }
  return Promise.all(
    [...counts].map(async ([name, ofName]) => ({ name, played: await Promise.all(ofName.map((count) => count())) })),
  );
};

/** Rejects at Ctrl-C or SIGTERM, so that the servers are stopped and their homes removed before this process ends. */
const interrupted = new Promise<never>((_, reject) => {
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => reject(new Error(`ended by ${signal}`)));
});

const { values } = parseArgs({
  options: {
    moments: { type: "string", default: "10" },
    seed: { type: "string", default: "1" },
    write: { type: "boolean", default: false },
  },
});
const moments = chooseMoments(readCount("moments", values.moments), readCount("seed", values.seed));
const when = measuredOn();
const results = await withContenders(undefined, (contenders) => Promise.race([play(contenders, moments), interrupted]));

const text = scoreboard(results, "ours", when);
process.stdout.write(`${text}\n`);
if (values.write) {
  const page = fileURLToPath(new URL("../docs/performance.md", import.meta.url));
  writeFileSync(page, placed(readFileSync(page, "utf8"), "scoreboard", text));
  process.stderr.write("docs/performance.md written\n");
}
const ours = results.find(({ name }) => name === "ours");
if (!ours || !isTargetMet(scoreOf(ours.played))) process.exitCode = 1;
