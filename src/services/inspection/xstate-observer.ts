import { outboxId } from "../../machines/supervisor/machine.ts";
import type { Inspect, InspectedRef, InspectionEvent } from "../runtime/actor-system.ts";
import { eventName } from "./event-name.ts";
import type { InspectedActor, InspectorStep } from "./protocol.ts";
import { type StateValue, statePaths } from "./state-paths.ts";
import type { StepLog } from "./step-log.ts";

/** An actor of the running supervisor. */
interface Ref {
  key: string;
  /** Its newest snapshot. */
  snapshot: unknown;
  /** Steps whose event it has not come to yet, or is at. */
  pending: { event: object; step: InspectorStep; taken: boolean }[];
}

type Of<Type extends InspectionEvent["type"]> = Extract<InspectionEvent, { type: Type }>;

const identify = ({ id, sessionId }: InspectedRef, rootId: string): Pick<InspectedActor, "kind" | "id"> => {
  if (sessionId === rootId) return { kind: "supervisor", id: "" };
  const prefix = outboxId("");
  return id.startsWith(prefix) ? { kind: "outbox", id: id.slice(prefix.length) } : { kind: "task", id };
};

/** What XState says of an actor that threw, or is done, to the one above it. */
const isEndOfSender = (type: string): boolean => /^xstate\.(?:error|done)\.actor\./.test(type);

/**
 * Reads the steps of one directory's actors from what XState tells of them. It tells of an event when that is sent, and
 * of its snapshot when that was taken, with all that it caused in between; the steps are in the order of sending.
 */
export const observe = (directory: string, steps: StepLog, now: () => number): Inspect => {
  const refs = new Map<string, Ref>();

  const refOf = ({ actorRef, rootId }: InspectionEvent): Ref => {
    const actor = actorRef as InspectedRef;
    const known = refs.get(actor.sessionId);
    if (known) return known;
    const { kind, id } = identify(actor, rootId);
    // Another supervisor takes over from one that threw: what that one had is out of reach.
    if (kind === "supervisor") {
      for (const { key } of refs.values()) steps.dismiss(key);
      refs.clear();
    }
    const ref: Ref = { key: [directory, kind, id].join(" "), snapshot: undefined, pending: [] };
    refs.set(actor.sessionId, ref);
    steps.introduce({ key: ref.key, kind, id, directory });
    return ref;
  };

  const onEvent = (told: Of<"@xstate.event">) => {
    const ref = refOf(told);
    const sender = told.sourceRef && refs.get(told.sourceRef.sessionId);
    const from = sender?.key ?? null;
    const step = steps.send({ at: now(), from, to: ref.key, event: eventName(told.event) });
    ref.pending.push({ event: told.event, step, taken: false });
    if (sender && isEndOfSender(told.event.type)) steps.dismiss(sender.key);
  };

  /** A transition may change nothing in the actor itself: the supervisor only passes things on. */
  const onMicrostep = (told: Of<"@xstate.microstep">) => {
    const sent = refs.get((told.actorRef as InspectedRef).sessionId)?.pending.find(({ event }) => event === told.event);
    if (sent && told._transitions.length > 0) sent.taken = true;
  };

  const onSnapshot = (told: Of<"@xstate.snapshot">) => {
    const { rootId, event, snapshot } = told;
    const ref = refOf(told);
    const place = ref.pending.findIndex((sent) => sent.event === event);
    const [sent] = place < 0 ? [] : ref.pending.splice(place, 1);
    // Nobody sends an actor its stop: the one above it stops it.
    const from = refs.get(rootId)?.key ?? null;
    const step = sent?.step ?? steps.send({ at: now(), from, to: ref.key, event: eventName(event) });
    const taken = sent?.taken || snapshot !== ref.snapshot;
    steps.settle(step, statePaths((snapshot as { value?: StateValue }).value), taken);
    ref.snapshot = snapshot;
    if (snapshot.status === "active") return;
    steps.dismiss(ref.key);
    refs.delete(told.actorRef.sessionId);
  };

  return (told) => {
    if (told.type === "@xstate.event") onEvent(told);
    if (told.type === "@xstate.microstep") onMicrostep(told);
    if (told.type === "@xstate.snapshot") onSnapshot(told);
  };
};
