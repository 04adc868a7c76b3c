import { setTimeout as sleep } from "node:timers/promises";
import { describe, onTestFailed, test } from "vitest";
import { isNightly } from "../nightly.ts";
import { expectInvariants, expectNoServer } from "./crash/invariants.ts";
import { perform } from "./crash/plays.ts";
import { type DrawnPlay, drawPlay, PLAYS } from "./crash/random.ts";
import { type Lab, startLab } from "./lab/lab.ts";
import { noTerminal, openTerminal } from "./lab/terminal.ts";
import { storedTasks } from "./stored.ts";
import { noticesIn } from "./tasks-and-notices.ts";

/**
 * OpenCode is killed at a moment, started again in the same home, perhaps ended once more while it recovers (killed, or
 * quit in its terminal interface), and then all must be as if nothing had happened: every task at its end, every result
 * right, no finished step done twice, each end delivered once, no session without a task, and every journal replays.
 *
 * Plays a handful with a fixed seed, and one of them in `npm test`. `NIGHTLY=1` plays all; `CRASH_SEED` decides when the ends come,
 * and is drawn then where it is not given; `CRASH_PLAY` is the number of one play that is played alone.
 */
const ALONE = process.env.CRASH_PLAY;
const SEED = Number(process.env.CRASH_SEED ?? (isNightly ? Date.now() % 1_000_000 : 1));

/** One while tasks are launched, and two that are killed once more while OpenCode recovers. */
const HANDFUL = [0, 12, 24];

/** The one that `npm test` plays: killed while it works, and once more while it recovers. */
const IN_GATE = 12;

const everyNumber = Array.from({ length: PLAYS }, (_, number) => number);
const numbers = ALONE === undefined ? (isNightly ? everyNumber : HANDFUL) : [Number(ALONE)];

const inWords = ({ number, name, delay, again }: DrawnPlay): string => {
  const second = again ? `, then ${again.end} ${again.delay} ms after it is back` : "";
  return `play ${number}: killed ${delay} ms after the moment "${name}"${second}`;
};

const isOver = async (lab: Lab, parent: string, notices: number): Promise<boolean> => {
  const { data: busy } = await lab.client.session.status();
  if (!busy || Object.keys(busy).length > 0) return false;
  const tasks = storedTasks(lab);
  return tasks.every(({ owner }) => owner === null) && (await noticesIn(lab, parent)).length >= notices;
};

const over = (lab: Lab, parent: string, notices: number, what: string) =>
  lab.until(() => isOver(lab, parent, notices), { what });

/** OpenCode is back, and ends once more while it recovers. */
const endAgain = async (lab: Lab, { end, delay }: NonNullable<DrawnPlay["again"]>) => {
  if (end === "killed") {
    await lab.restart();
    await sleep(delay);
    await lab.opencode.kill();
    return;
  }
  const terminal = await openTerminal(lab.options);
  await sleep(delay);
  await terminal.quit();
  expectNoServer(lab);
};

describe(`ended with seed ${SEED}`, () => {
  if (isNightly && noTerminal !== undefined) test.skip(`killed in place of quit: ${noTerminal}`, () => undefined);

  for (const number of numbers) {
    const drawn = drawPlay(SEED, number);
    // More than all waits inside together: one of those fails first, and says what it waited for.
    test(inWords(drawn), { timeout: 900_000, tags: number === IN_GATE ? ["gate"] : [] }, async () => {
      onTestFailed(() => {
        const alone = "npx vitest run --project e2e test/e2e/crash.test.ts";
        console.error(`To play it alone: CRASH_SEED=${SEED} CRASH_PLAY=${number} ${alone}`);
      });
      const { play, comes, delay, again } = drawn;
      const lab = await startLab();
      try {
        const parent = await lab.session();
        perform(lab, parent, play);
        const ends: number[] = [];
        const crash = async () => {
          await comes(lab, parent);
          await sleep(delay);
          await lab.opencode.kill();
          ends.push(lab.model.requests.length);
        };
        const begin = async () => {
          await lab.prompt(parent, "begin");
          if (!play.followUp) return;
          await over(lab, parent, play.prompts.length, "the first results are delivered");
          await lab.prompt(parent, play.followUp.prompt);
        };
        await Promise.all([crash(), begin()]);
        if (again) {
          await endAgain(lab, again);
          ends.push(lab.model.requests.length);
        }
        await lab.restart();
        const runs = play.followUp ? 2 : 1;
        await over(lab, parent, storedTasks(lab).length * runs, "everything is delivered");
        await expectInvariants({ lab, parent, play, ends });
      } finally {
        await lab.stop();
      }
    });
  }
});
