import type { StatelyActorEvent, StatelyInspectionEvent } from "@statelyai/inspect";
import type { AnyTransitionDefinition } from "xstate";
import { type StateValue, statePaths } from "../../machines/chart.ts";
import { launchOfActor, parentOfOutbox } from "../../machines/supervisor/machine.ts";
import { enteredThrough } from "../../machines/transition-names.ts";
import { apartFrom } from "../../machines/way.ts";
import type { Clock } from "../platform/clock.ts";
import { createListeners } from "../platform/listeners.ts";
import { errorMessage, type Log } from "../platform/log.ts";
import type { Inspect, InspectedRef, InspectionEvent } from "../runtime/actor-system.ts";
import {
  type InspectedActor,
  type InspectorMessage,
  type InspectorStep,
  MAX_STEPS,
  type StatelyMessages,
} from "./protocol.ts";

// Stately's page is shown in a frame of ours, which passes it messages without what events and contexts carry: their own
// servers would open a browser, listen on all interfaces, or send everything to a server of theirs.

/** The recording of one directory's actors. */
export interface Recording {
  /** To be given to the supervisor's actor system, which reports to it everything that its actors do. */
  inspect: Inspect;
  /** Ends the recording: the directory is closed. */
  end(): void;
}

/**
 * Creates a recorder of the steps of the actors of all directories for which that is switched on. It keeps nothing while no
 * directory is recorded.
 */
export const createRecorder = (clock: Clock) => {
  const steps = createStepLog();
  const recordings = new Set<Recording>();
  const listeners = createListeners();
  return {
    isOn: () => recordings.size > 0,
    since: (number: number): InspectorMessage => ({ upTo: steps.newest(), ...steps.since(number) }),
    onChange: listeners.add,
    /** Starts to record the actors of a directory. */
    record: (directory: string): Recording => {
      const onInspectionEvent = observe(directory, steps, clock.now);
      const recording: Recording = {
        inspect: (event) => {
          onInspectionEvent(event);
          listeners.notify();
        },
        end: () => {
          recordings.delete(recording);
          if (recordings.size === 0) steps.clear();
          listeners.notify();
        },
      };
      recordings.add(recording);
      return recording;
    },
  };
};

/**
 * Keeps the newest messages, and for each living actor the message that introduced it, with its current state: a page
 * that opens late needs those too.
 */
const createMessageLog = () => {
  const actors = new Map<string, StatelyActorEvent>();
  let recent: { number: number; message: StatelyInspectionEvent }[] = [];
  let count = 0;
  return {
    add: (message: StatelyInspectionEvent) => {
      const { sessionId } = message;
      if (message.type === "@xstate.actor") actors.set(sessionId, message);
      if (message.type === "@xstate.snapshot") {
        const { snapshot } = message;
        const actor = actors.get(sessionId);
        if (snapshot.status !== "active") actors.delete(sessionId);
        else if (actor) actors.set(sessionId, { ...actor, snapshot });
      }
      count += 1;
      recent.push({ number: count, message });
      if (recent.length > MAX_STEPS) recent.shift();
    },
    since: (number: number): StatelyMessages => {
      const messages = recent.flatMap((one) => (one.number > number ? one.message : []));
      if (number > 0) return { upTo: count, messages };
      const steps = messages.filter(({ type, sessionId }) => type !== "@xstate.actor" && actors.has(sessionId));
      return { upTo: count, messages: [...actors.values(), ...steps] };
    },
    /** Forgets the actors of a supervisor, of which XState reports no end when it closes. */
    forgetActors: (supervisor: string) => {
      for (const [sessionId, { rootId }] of actors) if (rootId === supervisor) actors.delete(sessionId);
    },
    clear: () => {
      actors.clear();
      recent = [];
    },
  };
};

/**
 * Creates a recorder of the messages for Stately's inspector, of all directories for which that is switched on. It keeps
 * nothing, and loads nothing, while no directory is recorded.
 */
export const createStatelyRecorder = () => {
  const messages = createMessageLog();
  const recordings = new Set<Recording>();
  const listeners = createListeners();
  return {
    isOn: () => recordings.size > 0,
    since: messages.since,
    onChange: listeners.add,
    /** Starts to record the actors of a directory, and to load Stately's package: what happens meanwhile is recorded then. */
    record: (log: Log): Recording => {
      /** One, and one more each time a supervisor threw and was replaced. */
      const supervisors = new Set<string>();
      const record = (message: StatelyInspectionEvent) => {
        if (!recordings.has(recording)) return;
        if (message.type === "@xstate.actor") supervisors.add(message.rootId ?? message.sessionId);
        messages.add(message);
        listeners.notify();
      };
      let early: Parameters<Inspect>[0][] = [];
      let inspect: Inspect = (event) => void early.push(event);
      import("./stately-adapter.ts").then(
        ({ createStatelyInspector }) => {
          inspect = createStatelyInspector(record);
          for (const event of early.splice(0)) inspect(event);
        },
        (error) => {
          log.error("the live view cannot be started", { reason: errorMessage(error) });
          early = [];
          inspect = () => undefined;
        },
      );
      const recording: Recording = {
        inspect: (event) => inspect(event),
        end: () => {
          recordings.delete(recording);
          for (const supervisor of supervisors) messages.forgetActors(supervisor);
          if (recordings.size === 0) messages.clear();
          listeners.notify();
        },
      };
      recordings.add(recording);
      return recording;
    },
  };
};

// A page in a browser is what others look at over one's shoulder: so recorded steps have names, ids and times, and nothing of
// what anybody said.

const typeIn = (value: unknown): string | undefined =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string"
    ? value.type
    : undefined;

/**
 * Returns the name of an event: its type, and for one that wraps another event or an effect both types, such as
 * `HOST idle`. Types are fixed names of ours; the rest of an event may be text of a conversation and is left out.
 */
export const eventName = (event: { type: string; event?: unknown; effect?: unknown }): string =>
  [event.type, typeIn(event.event) ?? typeIn(event.effect)].filter((part) => part !== undefined).join(" ");

/** An actor of the running actor system. */
interface ObservedActor {
  key: string;
  /** Its newest snapshot. */
  snapshot: unknown;
  /** Steps whose event it has not processed yet. */
  pending: { event: object; step: InspectorStep }[];
  /** By which it took the event that it processes now, with those that it raised itself. */
  taken: AnyTransitionDefinition[];
}

type Of<Type extends InspectionEvent["type"]> = Extract<InspectionEvent, { type: Type }>;

const identify = ({ id, sessionId }: InspectedRef, rootId: string): Pick<InspectedActor, "kind" | "id"> => {
  if (sessionId === rootId) return { kind: "supervisor", id: "" };
  const parentSessionID = parentOfOutbox(id);
  if (parentSessionID !== undefined) return { kind: "outbox", id: parentSessionID };
  const launchId = launchOfActor(id);
  return launchId === undefined ? { kind: "task", id } : { kind: "launch", id: launchId };
};

/** True for the event by which a parent actor learns that a child threw or is done. */
const isEndOfSender = (type: string): boolean => /^xstate\.(?:error|done)\.actor\./.test(type);

/**
 * Writes the steps of one directory's actors to `steps`, from XState's inspection events. XState reports an event when it
 * is sent, and the receiver's snapshot once that has processed it, with everything that it caused in between. The steps
 * are in the order of sending.
 */
const observe = (directory: string, steps: StepLog, now: () => number): Inspect => {
  const actors = new Map<string, ObservedActor>();

  const removeAll = () => {
    for (const { key } of actors.values()) steps.removeActor(key);
    actors.clear();
  };

  const actorOf = ({ actorRef, rootId }: InspectionEvent): ObservedActor => {
    const ref = actorRef as InspectedRef;
    const existing = actors.get(ref.sessionId);
    if (existing) return existing;
    const { kind, id } = identify(ref, rootId);
    // A new supervisor replaces one that threw: the actors of the old one cannot be reached any more.
    if (kind === "supervisor") removeAll();
    const actor: ObservedActor = { key: [directory, kind, id].join(" "), snapshot: undefined, pending: [], taken: [] };
    actors.set(ref.sessionId, actor);
    steps.addActor({ key: actor.key, kind, id, directory });
    return actor;
  };

  const onEvent = (inspected: Of<"@xstate.event">) => {
    const { event, sourceRef } = inspected;
    const receiver = actorOf(inspected);
    const sender = sourceRef && actors.get(sourceRef.sessionId);
    const from = sender?.key ?? null;
    const step = steps.beginStep({ at: now(), from, to: receiver.key, event: eventName(event) });
    receiver.pending.push({ event, step });
    if (sender && isEndOfSender(event.type)) steps.removeActor(sender.key);
  };

  /** A transition may leave the actor's snapshot unchanged, as when the supervisor only forwards an event. */
  const onMicrostep = (inspected: Of<"@xstate.microstep">) => {
    actorOf(inspected).taken.push(...inspected._transitions);
  };

  const onSnapshot = (inspected: Of<"@xstate.snapshot">) => {
    const { rootId, event, snapshot, actorRef } = inspected;
    const actor = actorOf(inspected);
    const index = actor.pending.findIndex((sent) => sent.event === event);
    const [sent] = index < 0 ? [] : actor.pending.splice(index, 1);
    // XState reports no sender for the event that stops an actor: its parent stops it.
    const from = actors.get(rootId)?.key ?? null;
    const step = sent?.step ?? steps.beginStep({ at: now(), from, to: actor.key, event: eventName(event) });
    const states = statePaths((snapshot as { value?: StateValue }).value);
    steps.completeStep(step, states, actor.taken.splice(0), snapshot !== actor.snapshot);
    actor.snapshot = snapshot;
    if (snapshot.status === "active") return;
    // A supervisor that closes lets go of its actors, and XState reports no end of those.
    if (actorRef.sessionId === rootId) return removeAll();
    steps.removeActor(actor.key);
    actors.delete(actorRef.sessionId);
  };

  return (inspected) => {
    if (inspected.type === "@xstate.event") onEvent(inspected);
    if (inspected.type === "@xstate.microstep") onMicrostep(inspected);
    if (inspected.type === "@xstate.snapshot") onSnapshot(inspected);
  };
};

export type StepLog = ReturnType<typeof createStepLog>;

/** Creates an empty log of at most `MAX_STEPS` steps, the newest, of all actors, and of the current state of each actor. */
export const createStepLog = () => {
  const actors = new Map<string, InspectedActor>();
  let steps: InspectorStep[] = [];
  let count = 0;

  /** Drops the actors that are gone and of which no step is kept any more. */
  const dropGone = () => {
    const oldest = steps[0]?.number ?? 0;
    for (const { key, gone, newest } of actors.values()) if (gone && newest < oldest) actors.delete(key);
  };

  return {
    /** Adds a step for an event that was just sent. Its effect is not known before `completeStep`. */
    beginStep: (sent: Pick<InspectorStep, "at" | "from" | "to" | "event">): InspectorStep => {
      count += 1;
      const actor = actors.get(sent.to);
      const step: InspectorStep = {
        number: count,
        ...sent,
        states: actor?.states ?? [],
        entered: [],
        left: [],
        through: {},
        taken: false,
      };
      steps.push(step);
      if (actor) actor.newest = count;
      if (steps.length > MAX_STEPS) {
        steps.shift();
        dropGone();
      }
      return step;
    },
    /**
     * Completes a step: the actor is now in `states`. It has ignored the event where it took no transition, unless its snapshot is
     * another one (`isChanged`) all the same.
     */
    completeStep: (
      step: InspectorStep,
      states: string[],
      transitions: readonly AnyTransitionDefinition[],
      isChanged: boolean,
    ) => {
      const actor = actors.get(step.to);
      const entered = states.filter((state) => !actor?.states.includes(state));
      const left = actor?.states.filter((state) => !states.includes(state)) ?? [];
      const through = enteredThrough(transitions, apartFrom(entered, left));
      const taken = isChanged || transitions.length > 0;
      Object.assign(step, { states, entered, left, through, taken } satisfies Partial<InspectorStep>);
      if (!actor) return;
      actor.states = states;
      const { number, at, event } = step;
      if (entered.length > 0) actor.lastTransition = { number, at, event, entered, left, through };
    },
    addActor: (actor: Pick<InspectedActor, "key" | "kind" | "id" | "directory">) => {
      const existing = actors.get(actor.key);
      if (existing) existing.gone = false;
      else {
        const lastTransition = { number: count, at: 0, event: "", entered: [], left: [], through: {} };
        actors.set(actor.key, { ...actor, states: [], lastTransition, newest: count, gone: false });
      }
    },
    /** Marks an actor as gone. It is dropped with the last of its steps. */
    removeActor: (key: string) => {
      const actor = actors.get(key);
      if (actor) actor.gone = true;
    },
    /** Returns the number of the newest step. */
    newest: () => count,
    /** Returns the steps after that number, and the actors that took one of them; after 0, all actors. */
    since: (number: number) => ({
      actors: [...actors.values()].filter(({ newest }) => number === 0 || newest > number),
      steps: steps.filter((step) => step.number > number),
    }),
    clear: () => {
      actors.clear();
      steps = [];
    },
  };
};
