import { initialTransition, transition } from "xstate";
import type { OutboxEffect, OutboxEvent } from "../../src/machines/outbox/events.ts";
import type { OutboxSnapshot } from "../../src/machines/outbox/machine.ts";
import { parentOfOutbox } from "../../src/machines/supervisor/machine.ts";
import { statusOf, taskMachine } from "../../src/machines/task/machine.ts";
import { slotOf } from "../../src/machines/task/slot.ts";
import type { Inspect, InspectedRef } from "../../src/services/runtime/actor-system.ts";
import type { Task } from "../../src/task.ts";
import type { Stage } from "../fakes/stage.ts";
import { createOutboxHistory } from "../model/outbox-history.ts";
import { createTaskHistory, effectsOf } from "../model/task-history.ts";
import type { Storage } from "./storage.ts";

/*
 * What is promised of every history of a task and of an outbox is promised of those of random schedules, too. A task's is
 * its journal. An outbox has none: it is followed while it is at work, from its first event to the end of its actor.
 */

/** The history of each stored task is one that is promised. */
export const unpromised = ({ storage, stage }: { storage: Storage; stage: Stage }, stored: Task[]): string[] =>
  stored.flatMap(({ sessionID }) => {
    const origin = storage.origin(sessionID);
    if (!origin) return [];
    let [snapshot, actions] = initialTransition(taskMachine, origin);
    const history = createTaskHistory(origin.run, effectsOf(actions), origin.facts);
    const story: string[] = [];
    try {
      for (const event of stage.store.journal(sessionID)) {
        story.push(event.type);
        [snapshot, actions] = transition(taskMachine, snapshot, event);
        const seen = { status: statusOf(snapshot), slot: slotOf(snapshot) };
        history.take({ event, effects: effectsOf(actions), ...seen });
      }
      return [];
    } catch (error) {
      return `the history of ${sessionID} is none that is promised: ${(error as Error).message}, after ${story.join(" ")}`;
    }
  });

interface Watched {
  history: ReturnType<typeof createOutboxHistory>;
  effects: OutboxEffect[];
  story: string[];
}

const earliest = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);

/** Follows all outboxes: receives everything that XState observes, and has `fault` told where one breaks a promise. */
export const watchOutboxes = (fault: (words: string) => void): Inspect => {
  const outboxes = new Map<string, Watched>();

  const watchedOf = ({ sessionId, id }: InspectedRef): Watched | undefined => {
    const parentSessionID = parentOfOutbox(id);
    if (parentSessionID === undefined) return undefined;
    const known = outboxes.get(sessionId);
    if (known) return known;
    const watched = { history: createOutboxHistory(parentSessionID), effects: [], story: [] };
    outboxes.set(sessionId, watched);
    return watched;
  };

  return (observation) => {
    // An outbox sends what it wants done to the supervisor before its step is over.
    if (observation.type === "@xstate.event" && observation.event.type === "EFFECT" && observation.sourceRef) {
      watchedOf(observation.sourceRef as InspectedRef)?.effects.push(observation.event.effect as OutboxEffect);
      return;
    }
    if (observation.type !== "@xstate.snapshot" || observation.snapshot.status !== "active") return;
    const watched = watchedOf(observation.actorRef as InspectedRef);
    const event = observation.event as OutboxEvent;
    if (!watched || event.type.startsWith("xstate.")) return;
    const { history, effects, story } = watched;
    const { parentSessionID, nextDeadline, parentReadyAt } = (observation.snapshot as unknown as OutboxSnapshot)
      .context;
    watched.effects = [];
    story.push(event.type);
    try {
      history.take({ event, effects, wakesAt: earliest(nextDeadline, parentReadyAt) });
    } catch (error) {
      fault(
        `the history of the outbox of ${parentSessionID} is none that is promised: ${(error as Error).message}, after ${story.join(" ")}`,
      );
    }
  };
};
