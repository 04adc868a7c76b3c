// Stately's page is shown in a frame of ours, which passes it messages without what events and contexts carry: their own
// servers would open a browser, listen on all interfaces, or send everything to a server of theirs.
import type { StatelyActorEvent, StatelyInspectionEvent } from "@statelyai/inspect";
import type { Clock } from "../platform/clock.ts";
import { createListeners } from "../platform/listeners.ts";
import { errorMessage, type Log } from "../platform/log.ts";
import type { Inspect } from "../runtime/actor-system.ts";
import { type InspectorMessage, type LiveSource, MAX_STEPS, type StatelyMessages } from "./protocol.ts";
import { createStepLog, observe } from "./xstate-observer.ts";

/** The recording of one directory's actors. */
export interface Recording {
  /** To be given to the supervisor's actor system, which reports to it everything that its actors do. */
  inspect: Inspect;
  /** Ends the recording: the directory is closed. */
  end(): void;
}

/** Records the steps of the actors of all directories for which that is switched on. */
export interface Recorder extends LiveSource {
  since(number: number): InspectorMessage;
  /** Starts to record the actors of a directory. */
  record(directory: string): Recording;
}

/** Creates a recorder. It keeps nothing while no directory is recorded. */
export const createRecorder = (clock: Clock): Recorder => {
  const steps = createStepLog();
  const recordings = new Set<Recording>();
  const listeners = createListeners();
  return {
    isOn: () => recordings.size > 0,
    since: (number) => ({ upTo: steps.newest(), ...steps.since(number) }),
    onChange: listeners.add,
    record: (directory) => {
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

/** Records the messages for Stately's inspector, of all directories for which that is switched on. */
export interface StatelyRecorder extends LiveSource {
  since(number: number): StatelyMessages;
  /** Starts to record the actors of a directory, and to load Stately's package: what happens meanwhile is recorded then. */
  record(log: Log): Recording;
}

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

/** Creates a recorder. It keeps nothing, and loads nothing, while no directory is recorded. */
export const createStatelyRecorder = (): StatelyRecorder => {
  const messages = createMessageLog();
  const recordings = new Set<Recording>();
  const listeners = createListeners();
  return {
    isOn: () => recordings.size > 0,
    since: messages.since,
    onChange: listeners.add,
    record: (log) => {
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
