// ADR-253 in docs/decisions.md
import { randomUUID } from "node:crypto";
import type { FleetOffer, FleetServer } from "../../task.ts";
import type { Elsewhere, LaunchPlan, LaunchRequest } from "../engine/requests.ts";
import type { Clock } from "../platform/clock.ts";
import { errorMessage, type Log } from "../platform/log.ts";
import type { Outcome } from "../platform/result.ts";
import { answerQuestions } from "./answering.ts";
import type { Bus } from "./bus.ts";
import { type ConversationSource, createConversationAnswers } from "./conversation-answers.ts";
import { createFleetView, type FleetView } from "./fleet-view.ts";
import { createFleetHome, type FleetHome, type FleetHomeDeps } from "./home.ts";
import { VERSION } from "./messages.ts";
import { offerFor } from "./offers.ts";
import { createRemoteConversations } from "./remote-conversations.ts";
import { createFleetWorker, type FleetWorker } from "./worker.ts";
import { createWorkplace, type WorkplaceDeps } from "./workplace.ts";

/** This server's place in a fleet, as the options say it. */
export interface FleetMembership {
  bus: Bus;
  server: FleetServer;
  /** The project whose servers take orders from each other. */
  pool: string;
  /** The project as people know it. */
  project: string;
  /** How many runs of other servers this one works on at once. */
  work: number;
  /** The agents whose tasks are for other servers. */
  offer: readonly string[];
  /** Of the plugin. */
  version: string;
  /** How often a run may be begun. */
  attempts: number;
  /** Milliseconds for which an order waits for a server. */
  patience: number;
  /** What is known of commits. */
  commits: {
    /** The commit that is checked out in a directory, where others can fetch it; a failure says why they cannot. */
    published(directory: string): Promise<Outcome<string>>;
    /** Says why a commit cannot be had in a directory, where it is fetched if need be; undefined where it can. */
    obstacle(directory: string, commit: string): Promise<string | undefined>;
  };
  clock: Clock;
  log: Log;
  /** Returns what nobody else has called anything. Default: something random. */
  newId?: () => string;
}

/** What an engine needs of a fleet. Its code is loaded only where an option asks for one. */
export interface Fleet {
  createHome(
    deps: Pick<FleetHomeDeps, "store" | "deniedTo" | "depthOf" | "receiveChanges" | "onHostEvent" | "onSteps">,
  ): FleetHome;
  /** Undefined where this server works for no others. */
  createWorker(
    deps: Omit<WorkplaceDeps, "commitObstacle" | "clock" | "log"> & Omit<ConversationSource, "log">,
  ): FleetWorker | undefined;
  /** Reads the conversations of tasks of this server that others work or worked on. */
  elsewhere: Elsewhere;
  /** Asks who is there, at most once in 5 s however often it is called. Where nobody can be asked it says why. */
  view(): Promise<FleetView>;
  /**
   * Returns how a task is offered to other servers; a failure says why it is worked on here, though its agent is for them.
   * `gated` are the agents whose answers must pass a gate.
   */
  offerFor(
    gated: Readonly<Record<string, unknown>>,
    request: LaunchRequest,
    plan: LaunchPlan,
  ): Promise<Outcome<FleetOffer | undefined>>;
  leave(): void;
}

/** Takes the place of this server in a fleet. */
export const createFleet = (membership: FleetMembership): Fleet => {
  const { bus, server, pool, project, work, offer, attempts, patience, commits, clock, log } = membership;
  const shared = { bus, clock, log, newId: membership.newId ?? randomUUID };
  return {
    createHome: (deps) => createFleetHome({ ...shared, ...deps, server: server.id, project }),
    createWorker: (deps) => {
      if (work === 0) return undefined;
      const commitObstacle = (commit: string) => commits.obstacle(deps.directory, commit);
      const workplace = createWorkplace({ ...deps, clock, log, commitObstacle });
      const worker = createFleetWorker({ ...shared, server, pool, slots: work, workplace });
      const stopAnswering = answerQuestions({
        ...{ bus, server: server.id },
        presence: () => ({
          ...{ v: VERSION, type: "present", server, pool, project, slots: work },
          ...{ atWork: worker.atWork(), version: membership.version },
        }),
        mayResume: async (question) => {
          if (question.pool !== pool) return undefined;
          const obstacle = await worker.obstacleToResume(question);
          return { v: VERSION, type: "mayResume", ...(obstacle === undefined ? {} : { obstacle }) };
        },
        ...createConversationAnswers({ ...deps, log }),
      });
      const stop = () => {
        stopAnswering();
        worker.stop();
      };
      return { ...worker, stop };
    },
    elsewhere: createRemoteConversations(bus, server.id),
    view: createFleetView(bus, server, clock),
    offerFor: (gated, request, plan) =>
      offerFor({ pool, agents: offer, attempts, patience, gated, publishedCommit: commits.published }, request, plan),
    leave: () => {
      bus.close().catch((error) => log.error("the fleet could not be left", { reason: errorMessage(error) }));
    },
  };
};
