/** How many steps are kept. A task's life is some 40 of them, so this is the newest 25 lives or so: about 200 kB. */
export const MAX_STEPS = 1_000;

/** An event that an actor got, and what it led to. It has the event's type alone: nothing of what was said. */
export interface InspectorStep {
  /** Ascending over all actors, in the order in which the events were sent. */
  number: number;
  /** Epoch milliseconds. */
  at: number;
  /** Key of the actor that sent it; null: it came from outside the machines. */
  from: string | null;
  /** Key of the actor that got it. */
  to: string;
  /** The event's type; of one that carries another event or an effect, that one's type too: `HOST idle`. */
  event: string;
  /** The innermost states that the actor is in after it, such as `run.working`. */
  states: string[];
  /** Those of them that it was not in before, and those that it is in no more. */
  entered: string[];
  left: string[];
  /** False when the actor's state has no use for the event: then nothing changed. */
  taken: boolean;
}

/** An actor as it stands. */
export interface InspectedActor {
  /** Its name among all actors of all directories. A task that was at rest and is brought back has the same one. */
  key: string;
  kind: "task" | "outbox" | "supervisor";
  /** A task's id, or the parent session that an outbox tells; empty for a supervisor. */
  id: string;
  /** The directory that OpenCode has open. */
  directory: string;
  states: string[];
  /** The step that brought it into these states. */
  moved: Pick<InspectorStep, "number" | "at" | "event" | "entered" | "left">;
  /** Number of its newest step. */
  newest: number;
  /** At rest, or stopped. It is shown for as long as one of its steps is. */
  gone: boolean;
}

/** What a page is shown: at first everything that is kept, then what has come since. */
export interface InspectorMessage {
  /** Number of the newest step that is in it. */
  upTo: number;
  /** Those that took a step, and all there are at first. */
  actors: InspectedActor[];
  /** Oldest first. */
  steps: InspectorStep[];
}
