import { guardPhrase } from "../../src/machines/guard-phrase.ts";
import { launchEventWords } from "../../src/machines/launch/events.ts";
import { type TaskEvent, taskEventDescriptions, taskEventWords } from "../../src/machines/task/events.ts";
import { type TaskSnapshot, taskMachine } from "../../src/machines/task/machine.ts";
import { type Regions, type ReplayStep, regionsOf, walk } from "../../src/machines/task/replay.ts";
import type { WholeJournal } from "./stories.ts";

/** An event of a story that led to other states. */
export interface Step {
  event: TaskEvent["type"] | "launched";
  /** Milliseconds since the launch began. */
  at: number;
  /** What happened: in a few words, and in sentences. */
  words: string;
  sentences: string;
  /** Why it led there, such as "if the command succeeded"; undefined where nothing else could follow. */
  condition: string | undefined;
  /** The innermost states that the task came into, but for `run.idle`: how the run ended says more. */
  entered: string[];
  /** From which state of the run to which other one it led; undefined where it led to no other. `run` stands for any of them. */
  move: { from: string; to: string } | undefined;
  /** The events that came then and led to no other state, each in a few words. */
  noted: string[];
}

const enteredBy = (from: Partial<Regions>, to: Regions): string[] =>
  (Object.keys(to) as (keyof Regions)[])
    .filter((region) => from[region] !== to[region])
    .map((region) => `${region}.${to[region]}`)
    .filter((state) => state !== "run.idle");

/** Returns the state of the run in which a state is: the region itself, for the region. */
const stateOfRun = (path: readonly string[]): string => path.slice(0, 2).join(".");

/** The transitions that an event takes, those that lead somewhere first, with whether the chart had a choice. */
const takenBy = (snapshot: TaskSnapshot, event: TaskEvent) => {
  const candidates = snapshot._nodes.flatMap((node) => node.transitions.get(event.type) ?? []);
  return taskMachine
    .getTransitionData(snapshot, event)
    .toSorted((one, other) => Number(one.target === undefined) - Number(other.target === undefined))
    .map((taken) => {
      const [region] = taken.source.path;
      return { taken, isChosen: candidates.filter(({ source }) => source.path[0] === region).length > 1 };
    });
};

const stepOf = (began: number, snapshot: TaskSnapshot, { event, from, to }: ReplayStep): Step => {
  const [first, ...others] = takenBy(snapshot, event);
  const ofRun = [first, ...others].find((one) => one?.taken.source.path[0] === "run")?.taken.source.path;
  const [before = "", after = ""] = [from, to].map(({ run }) => stateOfRun(["run", ...run.split(".")]));
  return {
    event: event.type,
    at: event.at - began,
    words: taskEventWords[event.type],
    sentences: first?.taken.description ?? taskEventDescriptions[event.type],
    condition: first?.isChosen && first.taken.guard ? guardPhrase(first.taken.guard, taskMachine) : undefined,
    entered: enteredBy(from, to),
    // Where a task goes on, it is its status that has the run begin.
    move: before === after ? undefined : { from: ofRun ? stateOfRun(ofRun) : before, to: after },
    noted: [],
  };
};

/** Tells what a journal says: its launch as one step, and then each event, replayed by the chart. */
export const tell = ({ origin, events }: WholeJournal): Step[] => {
  const { steps, snapshots } = walk(origin, events);
  const launch = origin.launch.events;
  const began = launch[0]?.at ?? origin.run.startedAt;
  const { run } = regionsOf(snapshots[0]);
  const launched: Step = {
    event: "launched",
    at: (launch.at(-1)?.at ?? began) - began,
    words: taskEventWords.RUN_BEGAN,
    sentences: `The task is launched: ${launch.map(({ type }) => launchEventWords[type]).join(", ")}.`,
    condition: undefined,
    entered: [`run.${run}`],
    move: { from: "run.idle", to: stateOfRun(["run", ...run.split(".")]) },
    noted: [],
  };
  const told = [launched];
  for (const [index, step] of steps.entries()) {
    const next = stepOf(began, snapshots[index] ?? snapshots[0], step);
    if (next.entered.length > 0) told.push(next);
    else told.at(-1)?.noted.push(next.words);
  }
  return told;
};

/** Returns the way that the steps go, as the definition of a story has it. */
export const wayOf = (steps: readonly Step[]): string[] =>
  steps.map(({ event, entered }) => `${event} → ${entered.join(" ")}`);

/** Returns how many milliseconds a task waited for its slot, or for what came first after its launch. */
export const waitOf = ([launched, next]: readonly Step[]): number => (next?.at ?? 0) - (launched?.at ?? 0);
