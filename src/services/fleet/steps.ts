import { z } from "zod";
import { ClaimSchema } from "../../launch-schema.ts";
import { isSameClaim } from "../../machines/task/setup.ts";
import { isInFleet } from "../../machines/task/slot.ts";
import { addUp, noProgress, type Progress } from "../../task.ts";
import { repeat } from "../platform/clock.ts";
import type { ProgressLog } from "../runtime/progress.ts";
import type { Store } from "../store/store.ts";
import type { Membership, OriginEngine } from "./member.ts";
import { RunName, readAs, Steps, WIRE_VERSION } from "./wire-messages.ts";

/*
 * What a task does on another server, reported to its origin server while it does it. A report may be lost: the next one has all
 * of it again, and so has the entry that ends the run.
 */

/** Adds up what was counted of a task and of its descendants. */
export const addUpSteps = (own: Progress, descendants: readonly Progress[]): Steps => {
  const all = [own, ...descendants];
  // Such times sort as their texts do.
  const times = all.map(({ lastUpdate }) => lastUpdate).sort();
  const byName = new Map<string, number>();
  for (const { toolCallsByName } of all) {
    for (const [name, calls] of Object.entries(toolCallsByName)) byName.set(name, (byName.get(name) ?? 0) + calls);
  }
  return {
    toolCalls: all.reduce((sum, { toolCalls }) => sum + toolCalls, 0),
    toolCallsByName: Object.fromEntries(byName),
    lastTools: own.lastTools,
    ...addUp(all),
    lastUpdate: times.at(-1) ?? own.lastUpdate,
  };
};

/**
 * Begins to count a task. Returns a function that returns what the task and its descendants have done by now. It is called
 * often, so those that have ended are read once.
 */
export const countSteps = (
  store: Pick<Store, "get" | "below">,
  progress: Pick<ProgressLog, "of">,
  taskId: string,
): (() => Steps) => {
  const ended = new Map<string, Progress>();
  const progressOf = (id: string): Progress => {
    const counted = progress.of(id);
    // One that goes on is counted anew once it has ended.
    if (counted) ended.delete(id);
    const found = counted ?? ended.get(id) ?? store.get(id)?.task.progress ?? noProgress("");
    if (!counted) ended.set(id, found);
    return found;
  };
  return () =>
    addUpSteps(
      progressOf(taskId),
      store.below([taskId]).map(({ sessionID }) => progressOf(sessionID)),
    );
};

/** Milliseconds between two looks whether a task has done something. */
const LOOK_EVERY = 2_000;

/** Milliseconds after which an unchanged report is sent again: the origin server may have slept, or the report was lost. */
const SEND_AGAIN_AFTER = 30_000;

/** What a worker reports of a run while it works on it. */
const LiveSteps = z.object({
  v: z.literal(WIRE_VERSION),
  ...RunName.shape,
  claim: ClaimSchema,
  steps: Steps,
  /** True where that server has heard nothing of its agent for too long. */
  isStale: z.boolean(),
});

/** Names the topic of reports to an origin server. Its payload is `LiveSteps`. */
const stepsTopic = (origin: string): string => `steps.${origin}`;

/** Reports to the origin server of a run what is done for it, when something was and now and then. Returns how to stop that. */
export const reportSteps = (
  { broker, clock, log }: Pick<Membership, "broker" | "clock" | "log">,
  name: RunName,
  now: () => Pick<z.infer<typeof LiveSteps>, "claim" | "steps" | "isStale">,
): (() => void) => {
  let sent = "";
  let sentAt = 0;
  const work = () => {
    const report = JSON.stringify({ v: WIRE_VERSION, ...name, ...now() });
    if (report === sent && clock.now() - sentAt < SEND_AGAIN_AFTER) return;
    broker.notify(stepsTopic(name.origin), report);
    sent = report;
    sentAt = clock.now();
  };
  const stops = [
    repeat(clock, log, { every: LOOK_EVERY, work, fault: "the steps of a run could not be reported" }),
    // While the broker was unreachable, nobody heard anything.
    broker.onReached(() => {
      sent = "";
    }),
  ];
  return () => {
    for (const stop of stops) stop();
  };
};

/**
 * Listens to the reports on this server's tasks. Those of the server that claimed the run last count. Returns how to stop.
 * @param onOver called with a run that is worked on, though it is not in the fleet any more
 */
export const listenToSteps = (
  { broker, server, clock }: Membership,
  { charts, onSteps }: OriginEngine,
  onOver: (name: RunName) => void,
): (() => void) =>
  broker.onNotified(stepsTopic(server.id), (payload) => {
    const report = readAs(LiveSteps, payload);
    if (report?.origin !== server.id) return;
    const snapshot = charts().snapshotOf(report.task);
    if (!snapshot || !isInFleet(snapshot) || snapshot.context.run.index !== report.run)
      return onOver({ origin: report.origin, task: report.task, run: report.run });
    const { remote } = snapshot.context;
    if (!isSameClaim(remote?.claim, report.claim)) return;
    const at = clock.now();
    onSteps(report.task, report.steps, at);
    const { attention } = snapshot.value;
    if (report.isStale && attention === "none") charts().send(report.task, { type: "BECAME_STALE", at });
    if (!report.isStale && attention === "stale") charts().send(report.task, { type: "ACTIVITY_SEEN", at });
  });
