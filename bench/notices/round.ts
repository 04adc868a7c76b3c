import { type ModelRequest, textOf } from "../../test/e2e/lab/model-request.ts";
import { calls, hang, text } from "../../test/e2e/lab/reply.ts";
import { isSettled } from "../../test/e2e/lab/settled.ts";
import type { SessionMessage } from "../../test/e2e/lab/transcript.ts";
import type { Child, Contender } from "./contender.ts";

/** How the parent was told of one child. */
export type Telling = {
  /**
   * Milliseconds from the last byte of the child's model to the arrival of the first model request of the parent that
   * carries the child's notice: all of it the work of the host and the contender. Absent when none was ever seen.
   */
  latency?: number;
  /** How often the notice stands in the parent's stored messages. */
  stored: number;
};

/** What one round showed. */
export type Round = {
  contender: Contender["name"];
  /** The children, which all ended together. */
  children: Telling[];
  /** Model requests of the parent from the release of the children until quiet: what being told costs. */
  turns: number;
};

/** Milliseconds without a parent's model request, the parent idle, after which a round is over. */
const quietMs = 1500;

/** Longest wait in milliseconds for the notices to arrive, and then for quiet: a round that loses one ends all the same. */
const patienceMs = 10_000;

/**
 * In a fresh parent session, launches the tasks in one assistant turn, lets that turn end, ends all children at the same
 * moment, and watches how the parent is told.
 */
export async function runRound(contender: Contender, tasks: number, id: string): Promise<Round> {
  const { lab } = contender;
  const descriptions = Array.from({ length: tasks }, (_, index) => `${id} child ${index + 1}`);
  const parent = await lab.session({ title: id });
  const held = hang();
  lab.model.when((request) => request.parentSessionID === parent, held);
  const launching = calls(descriptions.map((description) => contender.launch(description, `Do ${description}.`)));
  lab.model.when((request) => request.sessionID === parent, [launching, text("Noted.")]);

  await lab.ask(parent, "Launch the tasks.");
  const children = await Promise.all(descriptions.map((description) => childOf(contender, parent, description)));
  const before = requestsOf(contender, parent).length;
  const releasedAt = performance.timeOrigin + performance.now();
  held.release(text("The child's answer."));

  const arrivals = await Promise.all(children.map((child) => arrivalOf(contender, parent, child)));
  await quiet(contender, parent, releasedAt);

  const stored = userTextIn(await lab.messages(parent));
  return {
    contender: contender.name,
    children: children.map((child, index) => {
      const latency = arrivals[index];
      const times = stored.split(contender.notice(child)).length - 1;
      return { stored: times, ...(latency !== undefined && { latency }) };
    }),
    turns: requestsOf(contender, parent).length - before,
  };
}

/** The child that works on this, once its model was asked. */
async function childOf({ lab }: Contender, parent: string, description: string): Promise<Child> {
  const prompt = `Do ${description}.`;
  const { sessionID } = await lab.model.waitFor(
    (request) => request.parentSessionID === parent && userTextOf(request).includes(prompt),
  );
  return { description, sessionID };
}

/** Milliseconds from the child's last byte to its notice's arrival; undefined when none arrived in time. */
async function arrivalOf(contender: Contender, parent: string, child: Child): Promise<number | undefined> {
  const { model } = contender.lab;
  const notice = contender.notice(child);
  const carries = (request: ModelRequest) => request.sessionID === parent && userTextOf(request).includes(notice);
  const told = await model.waitFor(carries, { timeoutMs: patienceMs }).catch(() => undefined);
  const answeredAt = requestsOf(contender, child.sessionID).at(-1)?.answeredAt;
  return told && answeredAt !== undefined ? told.at - answeredAt : undefined;
}

/** Waits until the parent is idle and `quietMs` have brought no further model request of it. */
async function quiet(contender: Contender, parent: string, since: number): Promise<void> {
  const { model, events } = contender.lab;
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const after = requestsOf(contender, parent).at(-1);
    const next = await model
      .waitFor((request) => request.sessionID === parent, { timeoutMs: quietMs, ...(after && { after }) })
      .catch(() => undefined);
    if (next === undefined && isSettled(events.of(parent), since)) return;
    if (performance.now() > deadline) return;
  }
}

function requestsOf({ lab }: Contender, sessionID: string): ModelRequest[] {
  return lab.model.requests.filter((request) => request.sessionID === sessionID);
}

/** Only what users said: a launching call's arguments and its answer name the task as well. */
function userTextOf(request: ModelRequest): string {
  return request.messages
    .filter((message) => message.role === "user")
    .map(textOf)
    .join("\n");
}

function userTextIn(messages: SessionMessage[]): string {
  return messages
    .filter(({ info }) => info.role === "user")
    .flatMap(({ parts }) => parts.flatMap((part) => (part.type === "text" ? part.text : [])))
    .join("\n");
}
