import { isDeepStrictEqual } from "node:util";
import type { TaskEvent } from "../../src/machines/task/events.ts";
import { createReadDirectories } from "../../src/services/host/directories.ts";
import type { ApiTask, SourceResult } from "../../src/services/http/contract/api-task.ts";
import { createEngineSource, type StatusSource } from "../../src/services/http/engine-source.ts";
import type { Clock } from "../../src/services/platform/clock.ts";
import type { UserReply } from "../../src/user-request.ts";
import type { FakeHost } from "../fakes/fake-host.ts";
import type { Stage } from "../fakes/stage.ts";

/** What a person asks of a task by the status API: on the board, with a client, or by a command in a terminal. */
export type ApiRequest =
  | { kind: "cancel"; taskId: string }
  | { kind: "resume" | "retry" | "steer"; taskId: string; prompt: string }
  /** `isFit`: the reply belongs to what is asked. */
  | { kind: "answer"; taskId: string; reply: UserReply; isFit: boolean };

/** `unclear`: the API did not say, or said that OpenCode had not confirmed it. */
type Outcome = "done" | "refused" | "unclear";

/** The status API's requests that change something, without the sockets. */
export interface Api {
  /** Makes a request. It is under way when this returns. */
  send(request: ApiRequest): void;
}

/** Records what was asked by the API of any process, and what was said to it. */
export interface ApiRequests {
  /** The API of one process, whose timers end with it. `living` returns the process: what it answers once it is over, nobody hears. */
  of(stage: Stage, clock: Clock, living: () => { isOver(): boolean }): Api;
  /** The number of all requests. */
  count(): number;
  /** Says which requests were done though they were refused, were done more than once, or were not done though accepted. */
  violations(stage: Stage, hosts: readonly FakeHost[]): string[];
}

const outcomeOf = (result: SourceResult<ApiTask>): Outcome => {
  if (result.ok) return "done";
  // A task that is cleared after it took the request is said to be gone.
  return result.cause === "task" && !/was cleared/.test(result.reason) ? "refused" : "unclear";
};

const send = (source: StatusSource, request: ApiRequest): Promise<SourceResult<ApiTask>> => {
  switch (request.kind) {
    case "cancel":
      return source.cancel(request.taskId);
    case "answer":
      return source.answer(request.taskId, request.reply);
    case "retry":
      return source.retry(request.taskId, { prompt: request.prompt });
    default:
      return source[request.kind](request.taskId, request.prompt);
  }
};

/** How often the journal has the event that the request causes; undefined where it does not tell. */
const timesDone = (request: ApiRequest, journal: readonly TaskEvent[]): number | undefined => {
  if (request.kind === "resume" || request.kind === "retry") {
    const begun = journal.flatMap((event) =>
      // One that was asked for too early is there twice.
      (event.type === "RESUME" || event.type === "RETRY" || event.type === "NEXT_RUN_ASKED") &&
      event.prompt.includes(request.prompt)
        ? event.messageID
        : [],
    );
    return new Set(begun).size;
  }
  if (request.kind === "steer") {
    return journal.filter((event) => event.type === "STEER" && event.prompt.includes(request.prompt)).length;
  }
  return undefined;
};

/** True for the answer that the host was given for this request. */
const isGiven = ({ requestId, ...given }: UserReply, { id, ...taken }: FakeHost["answers"][number]): boolean =>
  id === requestId &&
  taken.reply === given.reply &&
  isDeepStrictEqual(taken.answers, given.answers) &&
  (given.message === undefined || taken.message === given.message);

/** Creates the record of all requests. `fault` is called with a violation that shows at once. */
export const createApiRequests = (fault: (words: string) => void): ApiRequests => {
  const made: { request: ApiRequest; outcome: Outcome }[] = [];
  let commands = 0;

  const checkAnswers = (hosts: readonly FakeHost[]): string[] => {
    const given = hosts.flatMap(({ answers }) => answers);
    return made.flatMap(({ request, outcome }) => {
      if (request.kind !== "answer") return [];
      const { reply, taskId, isFit } = request;
      const isTaken = given.some((answer) => isGiven(reply, answer));
      const ofRequest = made.filter((one) => one.request.kind === "answer" && isDeepStrictEqual(one.request, request));
      const accepted = made.filter(
        (one) =>
          one.outcome === "done" && one.request.kind === "answer" && one.request.reply.requestId === reply.requestId,
      );
      return [
        ...(outcome === "done" && !isFit
          ? [`${taskId} took an answer that does not belong to ${reply.requestId}`]
          : []),
        ...(accepted.length > 1 ? [`${reply.requestId} of ${taskId} was answered ${accepted.length} times`] : []),
        ...(outcome === "done" && !isTaken ? [`OpenCode was never given the answer to ${reply.requestId}`] : []),
        // A request that is open at the end of its run is rejected in any case.
        ...(isTaken && reply.reply !== "reject" && ofRequest.every((one) => one.outcome === "refused")
          ? [`OpenCode was given an answer to ${reply.requestId} that was refused`]
          : []),
      ];
    });
  };

  const checkJournals = ({ store }: Stage): string[] =>
    made.flatMap(({ request, outcome }) => {
      if (!store.get(request.taskId)) return [];
      const times = timesDone(request, store.journal(request.taskId)) ?? 0;
      const isDone = timesDone(request, []) === undefined || times === 1;
      return [
        ...(times > 1 ? [`${request.taskId} took one request to ${request.kind} ${times} times`] : []),
        ...(outcome === "refused" && times > 0
          ? [`${request.taskId} took a request to ${request.kind} that was refused`]
          : []),
        ...(outcome === "done" && !isDone ? [`${request.taskId} never took an accepted ${request.kind}`] : []),
      ];
    });

  return {
    of: (stage, clock, living) => {
      const directory = {
        get engine() {
          return stage.engine;
        },
        get store() {
          return stage.store;
        },
        host: stage.host,
      };
      const source = createEngineSource(
        { all: () => [directory], add: () => () => undefined, onChange: () => () => undefined },
        clock,
        () => {
          commands += 1;
          return `command_${commands}`;
        },
        "/nowhere/worktrees",
        createReadDirectories(clock),
      );
      return {
        send: (request) => {
          const record = { request, outcome: "unclear" as Outcome };
          made.push(record);
          const asked = living();
          send(source, request).then(
            (result) => {
              if (asked.isOver()) return;
              record.outcome = outcomeOf(result);
              const journal = stage.store.journal(request.taskId);
              const isWithout =
                request.kind === "cancel" && result.ok && !journal.some(({ type }) => type === "CANCEL");
              if (isWithout) fault(`${request.taskId} was not cancelled, though the API said so`);
            },
            // Its process has died.
            () => undefined,
          );
        },
      };
    },
    count: () => made.length,
    violations: (stage, hosts) => [...checkAnswers(hosts), ...checkJournals(stage)],
  };
};
