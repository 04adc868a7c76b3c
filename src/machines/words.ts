import { launchEffectDescriptions, launchEventDescriptions, launchEventWords } from "./launch/events.ts";
import { outboxEffectDescriptions, outboxEventDescriptions, outboxEventWords } from "./outbox/events.ts";
import { supervisorEventDescriptions, supervisorEventWords } from "./supervisor/events.ts";
import { taskEffectDescriptions, taskEventDescriptions, taskEventWords } from "./task/events.ts";

/** What pictures say for the events and effects of a chart. */
export interface Words {
  /** What each event means, in a sentence. */
  meanings: Record<string, string>;
  /** Each event in a few words. */
  short: Record<string, string>;
  /** What each effect asks for, in a sentence. */
  effects: Record<string, string>;
}

/** The events of each chart, in a few words. */
const eventWords = {
  task: taskEventWords,
  launch: launchEventWords,
  outbox: outboxEventWords,
  supervisor: supervisorEventWords,
};

export type ChartName = keyof typeof eventWords;

/** What is said of each chart. */
export const chartWords = {
  task: { meanings: taskEventDescriptions, short: taskEventWords, effects: taskEffectDescriptions },
  launch: { meanings: launchEventDescriptions, short: launchEventWords, effects: launchEffectDescriptions },
  outbox: { meanings: outboxEventDescriptions, short: outboxEventWords, effects: outboxEffectDescriptions },
  supervisor: { meanings: supervisorEventDescriptions, short: supervisorEventWords, effects: {} },
} satisfies Record<string, Words>;

/** Returns a name in the code's form, such as `awaitingTasks`, as words. */
export const inWords = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

/** Says what an event of a chart is, such as "slot granted". The empty one is that of a transition that is taken at once. */
export const eventInWords = (chart: ChartName, event: string): string => {
  const words: Record<string, string> = { ...eventWords[chart], "": "at once" };
  return words[event] ?? event;
};

/** Says which transition that is, such as "slot granted, from run › queued" for `run.queued:SLOT_GRANTED:0`. */
export const transitionInWords = (chart: ChartName, transition: string): string => {
  const [source, event = ""] = transition.split(":");
  return `${eventInWords(chart, event)}, from ${(source || chart).split(".").map(inWords).join(" › ")}`;
};
