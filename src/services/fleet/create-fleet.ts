import { randomUUID } from "node:crypto";
import type { LaunchPlan, LaunchRequest } from "../engine/requests.ts";
import { errorMessage } from "../platform/log.ts";
import { answerConversation, answerMessages, createRemoteConversations } from "./conversations.ts";
import { createFleetView } from "./fleet-view.ts";
import { offerFor } from "./jobs.ts";
import { createLocalEngine } from "./local-engine.ts";
import type { Membership, OriginEngine, WorkerEngine } from "./member.ts";
import { createRemoteRuns } from "./origin.ts";
import { type Answer, EVERYBODY, type Presence, type Question } from "./questions.ts";
import { WIRE_VERSION } from "./wire-messages.ts";
import { createWorker } from "./worker.ts";

/** Answers what other servers ask a worker, for as long as it works for them. Returns how to stop that. */
const answerQuestions = (
  { broker, server, pool, project, work, version, log }: Membership,
  { host, store }: WorkerEngine,
  worker: Pick<ReturnType<typeof createWorker>, "obstacleToResume" | "atWork">,
): (() => void) => {
  const presence = (): Presence => ({
    ...{ v: WIRE_VERSION, type: "present", server, pool, project, slots: work },
    ...{ atWork: worker.atWork(), version },
  });
  const answer = async (question: Question): Promise<Answer | undefined> => {
    switch (question.type) {
      case "present":
        return presence();
      case "mayResume": {
        if (question.pool !== pool) return undefined;
        const obstacle = await worker.obstacleToResume(question);
        return { v: WIRE_VERSION, type: "mayResume", ...(obstacle === undefined ? {} : { obstacle }) };
      }
      case "conversation":
        return answerConversation({ host, store, log }, question);
      case "messages":
        return answerMessages({ host, store, log }, question);
    }
  };
  const stops = [
    broker.onAsked(server.id, answer),
    // All others are for one server: a fleet would do much for one who asks them of all.
    broker.onAsked(EVERYBODY, async (question) => (question.type === "present" ? presence() : undefined)),
  ];
  return () => {
    for (const stop of stops) stop();
  };
};

/** What an engine gets of a fleet. Its code is loaded only where an option names one. */
export type Fleet = ReturnType<typeof createFleet>;

/** Takes this server's place in a fleet. `newId` is random by default. */
export const createFleet = ({
  newId = randomUUID,
  ...given
}: Omit<Membership, "newId"> & Partial<Pick<Membership, "newId">>) => {
  const member: Membership = { ...given, newId };
  const { broker, server, work, clock, log } = member;
  return {
    /** Creates what the engine asks of its runs on other servers. */
    createRemoteRuns: (engine: OriginEngine) => createRemoteRuns(member, engine),
    /** Returns how a launch is offered to other servers, see `offerFor`. */
    offerFor: (gated: Readonly<Record<string, unknown>>, request: LaunchRequest, plan: LaunchPlan) =>
      offerFor(member, gated, request, plan),
    /** Creates what works on runs of other servers; undefined where this server works for no others. */
    createWorker: (engine: WorkerEngine) => {
      if (work === 0) return undefined;
      const worker = createWorker(member, createLocalEngine(member, engine));
      const stopAnswering = answerQuestions(member, engine, worker);
      const stop = () => {
        stopAnswering();
        worker.stop();
      };
      return { takeOver: worker.takeOver, stop };
    },
    /** Reads the conversations of this server's tasks that others work or worked on. */
    conversations: createRemoteConversations(broker, server.id),
    /** Asks which workers are present, at most once in 5 s however often it is called. */
    view: createFleetView(broker, server, clock),
    leave: () => {
      broker.close().catch((error) => log.error("the fleet could not be left", { reason: errorMessage(error) }));
    },
  };
};
