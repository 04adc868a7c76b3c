import type { StatelyInspectionEvent } from "@statelyai/inspect";

/** Steps that are kept. A task takes some 55 in its life, its launch included, so this covers about the 18 newest tasks, in 250 kB. */
export const MAX_STEPS = 1_000;

/** A numbered history that a page can follow. */
export interface LiveSource {
  /** True while at least one directory of this process has it switched on. */
  isOn(): boolean;
  /** Everything after that number. After 0: everything that is kept, with what a newcomer needs to make sense of it. */
  since(number: number): { upTo: number };
  /** Calls the listener after each change; returns a function that removes it. */
  onChange(listener: () => void): () => void;
}

/** An event that was sent to an actor, and its effect. Of the event, only the type: no part of a conversation. */
export interface InspectorStep {
  /** Ascending over all actors, in the order in which the events were sent. */
  number: number;
  /** Epoch milliseconds. */
  at: number;
  /** Key of the actor that sent the event; null when it came from outside the machines. */
  from: string | null;
  /** Key of the actor that received it. */
  to: string;
  /** The event's type. For one that wraps another event or an effect, both types: `HOST idle`. */
  event: string;
  /** The innermost states of the actor after the step, such as `run.active.working.busy`. */
  states: string[];
  /** The states that it entered, and those that it left. */
  entered: string[];
  left: string[];
  /** The names of the transitions by which it entered these and the groups around them, such as `run.queued:SLOT_GRANTED:0`. */
  through: Record<string, string>;
  /** False when the actor ignored the event: its state has no transition for it. */
  taken: boolean;
}

/** The current state of an actor. */
export interface InspectedActor {
  /** Unique among the actors of all directories. A task that is loaded again later has the same key. */
  key: string;
  kind: "launch" | "task" | "outbox" | "supervisor";
  /** The id of a task or of a launch, or the parent session of an outbox; empty for a supervisor. */
  id: string;
  /** The directory that OpenCode has open. */
  directory: string;
  states: string[];
  /** The step that led to these states. */
  lastTransition: Pick<InspectorStep, "number" | "at" | "event" | "entered" | "left" | "through">;
  /** Number of its newest step. */
  newest: number;
  /** True once it is no longer loaded. It is still listed for as long as one of its steps is kept. */
  gone: boolean;
}

/** A message to the live page: at first everything that is kept, then what has been added. */
export interface InspectorMessage {
  /** Number of the newest step in it. */
  upTo: number;
  /** At first all actors, then those that took a step. */
  actors: InspectedActor[];
  /** Oldest first. */
  steps: InspectorStep[];
}

/** A message to the page that embeds Stately's inspector, in that inspector's own format. */
export interface StatelyMessages {
  /** Number of the newest of the messages. */
  upTo: number;
  messages: StatelyInspectionEvent[];
}
