import type { TaskEffect, TaskEvent } from "../../src/machines/task/events.ts";
import type { SlotState } from "../../src/machines/task/slot.ts";
import type { Claim, FleetOffer, TaskStatus } from "../../src/task.ts";

/** How often in a row a job is sent, and a run in the fleet is asked to stop. */
const JOBS = 7;
const STOPS = 10;

/** What a run may want done while it is in the fleet. It asks for a slot when it leaves it. */
const IN_THE_FLEET =
  /^(enqueueJob|readRun|requestRemoteStop|closeRun|requestSlot|queueNotice|withdrawNotice|writeReceipt)$/;
const OF_THE_FLEET = /^(enqueueJob|readRun|requestRemoteStop|closeRun)$/;

/** One step of a task whose first run is for other servers. */
export interface FleetStep {
  event: TaskEvent;
  effects: readonly TaskEffect[];
  status: TaskStatus;
  slot: SlotState;
}

const demand = (isTrue: boolean, what: string): void => {
  if (!isTrue) throw new Error(what);
};

const isLive = (status: TaskStatus): boolean => status === "running" || status === "resumed";

const isAfter = (claim: Claim, newest: Claim | undefined): boolean =>
  newest === undefined || claim.epoch > newest.epoch || (claim.epoch === newest.epoch && claim.seq > newest.seq);

const isSame = (claim: Claim, newest: Claim | undefined): boolean =>
  claim.epoch === newest?.epoch && claim.seq === newest.seq;

/**
 * Creates the account of a run in the fleet, from what is promised: the newest claim alone counts; the run is begun as often
 * as it may be; once no server can, a launch is worked on here, and a resume ends in an error; and whoever stops it sees it end.
 * @param lastClaim of the run before; undefined for a launch
 */
export const createFleetHistory = (offer: FleetOffer, begin: readonly TaskEffect[], lastClaim?: Claim) => {
  let isInFleet = true;
  /** How often in a row the job was sent. */
  let jobs = 0;
  /** What became of the job that was sent last; the claim of a server ends it. */
  let job: "sent" | "refused" | "waits for a server" | "taken back" | "claimed" = "sent";
  let newest = lastClaim;
  /** The claims by which servers have begun it. */
  const begun: { claim: Claim; server: string }[] = [];
  /** True from a claim until nothing of the run is found. */
  let isWorkedOn = false;
  let stop: "none" | "cancelled" | "beyond a limit" = "none";
  /** How often the server that works on it, or the broker, was asked to stop it. */
  let stops = 0;
  /** The instructions that were given while it was in the fleet, which takes none. */
  const refused = new Set<string>();

  const takeEffect = (effect: TaskEffect, isUnderWay = true) => {
    demand(IN_THE_FLEET.test(effect.type), `a run in the fleet does ${effect.type} here`);
    if (effect.type === "enqueueJob") {
      jobs += 1;
      job = "sent";
      demand(stop === "none", "a run is enqueued that is being stopped");
      demand(jobs <= JOBS, `a run is enqueued for the ${jobs}. time in a row`);
    }
    if (effect.type === "closeRun") job = "taken back";
    // What the end of the run has closed is no attempt to stop it.
    if ((effect.type === "requestRemoteStop" || effect.type === "closeRun") && stop !== "none" && isUnderWay) {
      stops += 1;
      demand(stops <= STOPS, `a run in the fleet is asked to stop for the ${stops}. time`);
    }
  };

  const isRefusedForGood = ({ retryable }: Extract<TaskEvent, { type: "JOB_REFUSED" }>): boolean =>
    job === "sent" && (!retryable || jobs === JOBS);

  /** Returns how the event ends the run; undefined where the run goes on. */
  const endOf = (event: TaskEvent, isClaimNewest: boolean): TaskStatus | undefined => {
    const asStopped = stop === "cancelled" ? "cancelled" : "error";
    switch (event.type) {
      case "REMOTE_ENDED":
        if (!isClaimNewest) return undefined;
        return stop === "beyond a limit" ? "error" : event.outcome;
      case "CLOSED":
        if (stop !== "none") return asStopped;
        return lastClaim ? "error" : undefined;
      case "JOB_REFUSED":
        return lastClaim && isRefusedForGood(event) ? "error" : undefined;
      case "SESSION_DELETED":
        return stop === "none" ? "error" : asStopped;
      case "SUPERVISION_FAILED":
        return "error";
      case "REMOTE_LOST":
        return stop === "none" && isWorkedOn && begun.length >= offer.attempts ? "error" : undefined;
      default:
        return undefined;
    }
  };

  /** Returns what is done once enough time has passed. */
  const wantedByTime = (): string => {
    if (stop !== "none") return "closeRun";
    if (job === "refused") return "enqueueJob";
    return job === "waits for a server" || job === "taken back" ? "closeRun" : "";
  };

  /** Returns what must be done with the run in the fleet. */
  const wantedBy = (event: TaskEvent, isClaimNew: boolean): string => {
    switch (event.type) {
      case "REMOTE_CLAIMED":
        return isClaimNew && stop !== "none" ? "requestRemoteStop" : "";
      case "CANCEL":
        if (stop !== "none") return "";
        return isWorkedOn ? "requestRemoteStop" : "closeRun";
      case "LIMIT_EXCEEDED":
        return stop === "none" && isWorkedOn ? "requestRemoteStop" : "";
      case "ADOPTED":
        return job === "sent" ? "enqueueJob" : "readRun";
      case "SESSION_DELETED":
      case "SUPERVISION_FAILED":
        return "closeRun";
      case "JOB_REFUSED":
        return lastClaim && isRefusedForGood(event) ? "closeRun" : "";
      case "TICK":
        return wantedByTime();
      case "REMOTE_LOST":
        if (!isWorkedOn) return job === "waits for a server" ? "enqueueJob" : "";
        // Of a run that is being closed, nothing is expected to be found.
        if (stop !== "none") return job === "taken back" ? "" : "closeRun";
        return begun.length < offer.attempts ? "enqueueJob" : "closeRun";
      default:
        return "";
    }
  };

  /** True where no server can work on the run any more, so that it is worked on here. */
  const comesHere = (event: TaskEvent): boolean => {
    if (lastClaim) return false;
    if (event.type === "CLOSED") return stop === "none";
    return event.type === "JOB_REFUSED" && isRefusedForGood(event);
  };

  /** Counts a claim, unless it was counted: the broker had lost it, or has lost those after it. */
  const count = ({ claim, server: { id }, replaces }: Extract<TaskEvent, { type: "REMOTE_CLAIMED" }>) => {
    const isCounted = replaces
      ? begun.some((one) => isSame(one.claim, replaces))
      : begun.some((one) => one.server === id && isSame(one.claim, claim));
    if (!isCounted) begun.push({ claim: replaces ?? claim, server: id });
  };

  /** Records what the event reports, before what is done about it. */
  const learn = (event: TaskEvent, isClaimNew: boolean) => {
    switch (event.type) {
      case "REMOTE_CLAIMED":
        if (!isClaimNew) return;
        count(event);
        newest = event.claim;
        isWorkedOn = true;
        job = "claimed";
        stops = 0;
        return;
      case "REMOTE_HELD":
        if (begun.length === 0 || stop !== "none" || !isSame(event.claim, newest)) return;
        isWorkedOn = true;
        job = "claimed";
        return;
      case "JOB_ENQUEUED":
        if (job === "sent") job = "waits for a server";
        return;
      case "JOB_REFUSED":
        if (job === "sent") job = "refused";
        return;
      case "REMOTE_LOST":
        if (job === "waits for a server" || isWorkedOn) jobs = 0;
        isWorkedOn = false;
        return;
      case "ADOPTED":
        if (job === "sent") jobs = 0;
        return;
      case "CANCEL":
        if (stop === "none") stop = "cancelled";
        return;
      case "LIMIT_EXCEEDED":
        if (stop === "none" && isWorkedOn) stop = "beyond a limit";
        return;
      case "STEER":
        refused.add(event.messageID);
        return;
    }
  };

  const takeInFleet = ({ event, effects, status, slot }: FleetStep) => {
    const isClaimNew =
      event.type === "REMOTE_CLAIMED" && (event.isNewestForgotten === true || isAfter(event.claim, newest));
    const isClaimNewest = event.type === "REMOTE_ENDED" && begun.length > 0 && isSame(event.claim, newest);
    const end = endOf(event, isClaimNewest);
    const wanted = wantedBy(event, isClaimNew);
    const here = comesHere(event);
    learn(event, isClaimNew);
    for (const effect of effects) takeEffect(effect, isLive(status));
    const done = effects.flatMap(({ type }) => (OF_THE_FLEET.test(type) ? type : []));
    // Not every tick is due.
    const isEarly = event.type === "TICK" && done.length === 0;
    demand(isEarly || done.join() === wanted, `in the fleet: "${done.join()}" in place of "${wanted}"`);
    const isGivenUp = event.type === "TICK" && !isLive(status) && stop !== "none";
    if (isGivenUp) {
      demand(stops === STOPS, `a run was asked to stop ${stops} times, and given up`);
      demand(status === (stop === "cancelled" ? "cancelled" : "error"), `a run that is not stopped ends as ${status}`);
    } else {
      demand(
        end === undefined ? isLive(status) : status === end,
        `${event.type} in the fleet makes the task ${status}`,
      );
    }
    const asks = effects.some(({ type }) => type === "requestSlot");
    demand(asks === here, here ? "nobody works on the run" : "a run comes here that is in the fleet");
    if (here) isInFleet = false;
    demand(slot === (here ? "waiting" : "none"), `a run in the fleet has the slot state "${slot}"`);
  };

  demand(begin.map(({ type }) => type).join() === "enqueueJob", "a run that is for other servers is not enqueued");
  for (const effect of begin) takeEffect(effect);

  return {
    /** Takes a step of the run under way. Throws where it breaks what is promised. */
    take: (step: FleetStep) => {
      if (isInFleet) return takeInFleet(step);
      if (step.event.type === "STEER") refused.delete(step.event.messageID);
      for (const effect of step.effects) {
        demand(!OF_THE_FLEET.test(effect.type), `a run that is worked on here does ${effect.type}`);
        const given = effect.type === "sendSteering" ? effect.instruction.messageID : "";
        demand(!refused.has(given), "an instruction is sent that was given to another server's run");
      }
    },
    /** True for a run that is in the fleet, or has ended there. */
    isInFleet: () => isInFleet,
    /** True where a server has the conversation with which the next run goes on. */
    hasConversation: () => isInFleet && newest !== undefined,
    /** Begins to follow the next run, which is for the server that took the last one. */
    resume: (next: readonly TaskEffect[]) => createFleetHistory(offer, next, newest),
  };
};
